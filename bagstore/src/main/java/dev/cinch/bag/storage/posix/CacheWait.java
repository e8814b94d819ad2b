package dev.cinch.bag.storage.posix;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.storage.Patience;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Waits for the caches of network filesystems (rules N2, N3). Not thread-safe. */
@CheckReturnValue
final class CacheWait implements Patience {
  private static final Logger LOG = LoggerFactory.getLogger(CacheWait.class);

  private final PosixStore store;
  private final Path directory;
  private long deadline;
  private boolean begun;
  private boolean expired;

  /**
   * @param directory the one in which it is looked for
   */
  CacheWait(PosixStore store, Path directory) {
    this.store = store;
    this.directory = directory;
  }

  private void begin() {
    if (!begun) {
      begun = true;
      deadline = store.time().monotonicNanos() + PosixStore.CACHE_EXPIRY_NANOS;
    }
  }

  @Override
  public boolean isOver() {
    begin();
    try {
      return store.fs().isLocal(directory) || store.time().monotonicNanos() - deadline >= 0;
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
    expired = store.time().monotonicNanos() - deadline >= 0;
    return true;
  }

  private boolean seesPastCaches() throws IOException {
    try {
      return store.fs().isLocal(directory) || store.fresh().listIfPermitted(directory).isPresent();
    } catch (NoSuchFileException e) {
      return false; // then another look must tell
    }
  }
}
