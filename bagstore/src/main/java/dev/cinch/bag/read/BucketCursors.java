package dev.cinch.bag.read;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.close.Locks;
import dev.cinch.bag.format.BucketLock;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.fs.ForeignEntryException;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Opens the data files of one bucket for reading: what a lock covers of them, or in a bucket that
 * has none all that is there. The caller closes the cursors. Thread-safe.
 */
@CheckReturnValue
final class BucketCursors {
  private final LogContext log;
  private final Locks locks;

  BucketCursors(LogContext log) {
    this.log = log;
    this.locks = new Locks(log);
  }

  /** Of a bucket that a record lists. */
  List<DataFileCursor> settled(ClosedBucket listed, WitnessVerifier keys) throws IOException {
    return locked(locks.readListed(listed).lock(), Standing.SETTLED, keys);
  }

  /** All that a lock covers. */
  List<DataFileCursor> locked(BucketLock lock, Standing standing, WitnessVerifier keys)
      throws IOException {
    Path directory = log.layout().bucket(lock.bucket());
    var opening = new Opening(lock.bucket(), directory, keys, lock.files().size());
    for (LockedFile f : lock.files()) {
      if (f.validLength() > 0) {
        opening.add(f, standing);
      }
    }
    return opening.cursors;
  }

  /**
   * What there is of a bucket that is not settled.
   *
   * @param lock what exists in it, if it is closed (rule H4)
   * @param files all that there are, if it is not
   */
  record Found(Bucket bucket, Optional<BucketLock> lock, List<DataFileName> files) {}

  /** Looks what there is of a bucket that is not settled, and opens nothing yet. */
  Found find(Bucket bucket) throws IOException {
    Path directory = log.layout().bucket(bucket);
    List<String> names;
    Optional<BucketLock> lock = Optional.empty();
    try {
      Optional<List<String>> now = log.store().fresh().listIfPermitted(directory);
      names = now.isPresent() ? now.get() : log.store().fs().list(directory);
      // A "no" by name could outlast the closing, so that is for those whose listing may be old.
      if (now.isEmpty() || LogLayout.hasLock(names)) {
        lock = lock(bucket);
      }
    } catch (NoSuchFileException e) {
      // Closed meanwhile, and what was made for the listing was swept before it had its mode.
      names = List.of();
      lock = lock(bucket);
      if (lock.isEmpty()) {
        throw e;
      }
    }
    List<DataFileName> files =
        lock.isPresent()
            ? List.of()
            : names.stream().map(DataFileName::parse).flatMap(Optional::stream).toList();
    return new Found(bucket, lock, files);
  }

  private Optional<BucketLock> lock(Bucket bucket) throws IOException {
    return locks.read(bucket).map(Locks.Closed::lock);
  }

  /**
   * Of what was found in a bucket that is not settled.
   *
   * @param foreign told of what has the name of a data file and is none (rule N7)
   */
  List<DataFileCursor> live(
      Found found, WitnessVerifier keys, Consumer<ForeignEntryException> foreign)
      throws IOException {
    Optional<BucketLock> lock = found.lock();
    if (lock.isPresent()) {
      return locked(lock.get(), Standing.LOCKED, keys); // its record is still to come (rule H4)
    }
    Path directory = log.layout().bucket(found.bucket());
    var opening = new Opening(found.bucket(), directory, keys, found.files().size());
    for (DataFileName name : found.files()) {
      opening.addGrowing(name, foreign);
    }
    return opening.cursors;
  }

  /** Files of one bucket, each opened when it is read; an error closes those before. */
  private final class Opening {
    final List<DataFileCursor> cursors = new ArrayList<>();
    private final Bucket bucket;
    private final Path directory;
    private final WitnessVerifier keys;
    private final OpenFiles files;

    Opening(Bucket bucket, Path directory, WitnessVerifier keys, int files) {
      this.files = new OpenFiles(files);
      this.bucket = bucket;
      this.directory = directory;
      this.keys = keys;
    }

    void add(LockedFile file, Standing standing) throws IOException {
      Path path = LogLayout.dataFile(directory, file.name());
      StoreFile in = files.file(() -> listed(() -> log.store().fresh().read(path), path), null);
      cursors.add(cursor(path, in, file, standing));
    }

    private static StoreFile listed(OpenFiles.Opening opening, Path path) throws IOException {
      try {
        return opening.open();
      } catch (NoSuchFileException e) {
        throw new DamagedException(path, 0, "the data file that the lock lists", "no file");
      }
    }

    /** All of a file that others may be appending to. */
    void addGrowing(DataFileName name, Consumer<ForeignEntryException> foreign) throws IOException {
      Path path = LogLayout.dataFile(directory, name);
      try {
        StoreFile in = log.store().fresh().readGrowing(path);
        LockedFile whole = whole(name, in);
        if (whole.validLength() == 0 && !log.store().fs().readsReachServer(path)) {
          in.close();
          log.store().awaitCaches(path); // it may only look empty (rule N6)
          in = log.store().fresh().readGrowing(path);
          whole = whole(name, in);
        }
        StoreFile pooled = files.file(() -> log.store().fresh().readGrowing(path), in);
        cursors.add(cursor(path, pooled, whole, Standing.OPEN));
      } catch (ForeignEntryException e) {
        if (!path.equals(e.path())) {
          closeAll();
          throw e; // the bucket itself
        }
        foreign.accept(e);
      } catch (IOException | RuntimeException e) {
        closeAll();
        throw e;
      }
    }

    private static LockedFile whole(DataFileName name, StoreFile in) throws IOException {
      try {
        return new LockedFile(name, in.size(), 0, 0, 0, 0, new byte[0]);
      } catch (IOException | RuntimeException e) {
        in.close();
        throw e;
      }
    }

    private DataFileCursor cursor(Path path, StoreFile in, LockedFile file, Standing standing) {
      var header = new FileHeader(log.store().identity().id(), log.id(), bucket, file.name());
      return new DataFileCursor(
          path,
          header,
          in,
          () -> log.store().fs().readUncached(path),
          file,
          standing,
          new LeaseTable(keys, log),
          files);
    }

    private void closeAll() throws IOException {
      for (DataFileCursor c : cursors) {
        c.close();
      }
    }
  }
}
