package dev.cinch.bag.storage.posix;

import dev.cinch.bag.fs.FileStatus;
import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.BucketSealedException;
import dev.cinch.bag.storage.Entered;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;

/** Enters buckets to write there: append, step 2. Thread-safe. */
final class BucketEntrance {
  /** How often, and how far apart, to look whether the creator of a prelock has set its mode. */
  private static final long MODE_LOOK_NANOS = 2_000_000;

  private static final int MODE_LOOKS = 20;

  private final PosixStore store;
  private final StoreFs fs;
  private final Fresh fresh;

  BucketEntrance(PosixStore store) {
    this.store = store;
    this.fs = store.fs();
    this.fresh = store.fresh();
  }

  Entered enter(Name dataFile, boolean sync) throws IOException {
    Name directory = dataFile.parent();
    makeDirectories(directory, sync);
    Path prelock = store.path(LogLayout.prelock(directory));
    FileStatus status = enterPrelock(prelock);
    if (status.size() != 0) {
      throw new BucketSealedException();
    }
    Path path = store.path(dataFile);
    return new PosixDataFile(store, path, fs.create(path, store.fileMode()), prelock, status, sync);
  }

  private void makeDirectories(Name directory, boolean sync) throws IOException {
    Name group = directory.parent();
    Name era = group.parent();
    Name buckets = era.parent();
    Name log = buckets.parent();
    int mode = store.directoryMode();
    try {
      makeDirectory(directory, mode);
    } catch (NoSuchFileException e) {
      // A log that has buckets and no identity would stop everybody, whatever we promise.
      store.secure(log);
      makeDirectory(era, mode);
      makeDirectory(group, mode);
      makeDirectory(directory, mode);
    }
    if (sync) {
      // Also what somebody else made, and each time: what stood here may be another's by now.
      for (Name above : List.of(log, buckets, era, group)) {
        store.secure(above);
      }
    }
  }

  private void makeDirectory(Name directory, int mode) throws IOException {
    boolean unused = fresh.ensureDirectory(store.path(directory), mode);
  }

  /** Makes sure that there is a prelock, and remembers it as it is. */
  private FileStatus enterPrelock(Path prelock) throws IOException {
    int mode = store.fileMode();
    try {
      fs.create(prelock, mode).close();
      return fs.status(prelock);
    } catch (FileAlreadyExistsException e) {
      // Its creator sets the mode right after creating it, which changes the change time that we
      // are about to remember; until then others may not be permitted to open it.
      for (int i = 0; ; i++) {
        try {
          FileStatus status = fresh.status(prelock);
          if (status.mode() == mode || i == MODE_LOOKS) {
            return status;
          }
        } catch (AccessDeniedException denied) {
          if (i == MODE_LOOKS) {
            throw denied;
          }
        }
        pause();
      }
    }
  }

  private void pause() throws IOException {
    try {
      store.time().sleepNanos(MODE_LOOK_NANOS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted before anything was written", e);
    }
  }
}
