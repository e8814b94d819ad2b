package dev.cinch.bag.storage.posix;

import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.storage.Patience;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Waits for the caches of network filesystems (rules N2, N3). Not thread-safe. */
final class CacheWait implements Patience {
  private static final Logger LOG = LoggerFactory.getLogger(CacheWait.class);

  private final PosixStore store;
  private final StoreFs fs;
  private final TimeSource time;
  private final Path directory;
  private long deadline;
  private boolean begun;
  private boolean expired;

  CacheWait(PosixStore store, Path directory) {
    this.store = store;
    this.fs = store.fs();
    this.time = store.time();
    this.directory = directory;
  }

  private void begin() {
    if (!begun) {
      begun = true;
      deadline = time.monotonicNanos() + PosixStore.CACHE_EXPIRY_NANOS;
    }
  }

  @Override
  public boolean isOver() {
    begin();
    try {
      return fs.isLocal(directory) || time.monotonicNanos() - deadline >= 0;
    } catch (IOException e) {
      return false;
    }
  }

  @Override
  public boolean again() throws IOException {
    begin();
    if (expired || seesPastCaches()) {
      return false;
    }
    LOG.info("{}: something is missing; looking again until caches have expired", directory);
    store.awaitCaches(directory);
    // Of the wait, so that one more look comes after.
    expired = time.monotonicNanos() - deadline >= 0;
    return true;
  }

  private boolean seesPastCaches() throws IOException {
    try {
      return fs.isLocal(directory) || store.fresh().listIfPermitted(directory).isPresent();
    } catch (NoSuchFileException e) {
      return false; // then another look must tell
    }
  }
}
