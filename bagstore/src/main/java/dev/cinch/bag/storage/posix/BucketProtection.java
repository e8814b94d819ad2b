package dev.cinch.bag.storage.posix;

import dev.cinch.bag.format.ForeignEntryException;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.model.Name;
import java.io.IOException;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Write-protects the data files of what is closed: a courtesy to honest tools. Safety does not rest
 * on it, so a refusal is no error. Directories stay the group's to write, for whoever retires them
 * is seldom the one that closed them (rule C5). Thread-safe.
 */
final class BucketProtection {
  private static final Logger LOG = LoggerFactory.getLogger(BucketProtection.class);

  /** How coarse change times may be: a whole second on some servers. */
  private static final long SHORTEST_TICK_NANOS = 1_000_000;

  private static final long LONGEST_TICK_NANOS = 1L << 30;

  private final PosixStore store;
  private final StoreFs fs;

  BucketProtection(PosixStore store) {
    this.store = store;
    this.fs = store.fs();
  }

  void file(Path path) {
    try {
      fs.chmod(path, store.settings().closedFileMode());
    } catch (ForeignEntryException e) {
      if (e.isFile()) { // read all the same: a backup may have linked it
        LOG.warn("{}", e.getMessage());
      }
    } catch (IOException e) {
      LOG.debug("{}: left writable: {}", path, e.toString());
    }
  }

  /**
   * Changes a bucket, where other machines may look, in a later tick of the server's clock than
   * that in which the lock was linked. A client that looked just before the link would else believe
   * for ever that there is none: its kernel goes by the directory's change time, and its user may
   * not be permitted to make an entry, which changes that (rule N2).
   */
  void closed(Name bucket) {
    Path directory = store.path(bucket);
    Path lock = store.path(LogLayout.lock(bucket));
    try {
      if (fs.isLocal(directory)) {
        return;
      }
      change(directory);
      for (long pause = SHORTEST_TICK_NANOS;
          pause <= LONGEST_TICK_NANOS && isOfItsTick(directory, lock);
          pause *= 2) {
        store.time().sleepNanos(pause);
        change(directory);
      }
    } catch (IOException e) {
      LOG.debug("{}: left as it was: {}", directory, e.toString());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the bucket is closed all the same
    }
  }

  /** Gives it its own mode once more, or where that is another user's to set makes an entry. */
  private void change(Path directory) throws IOException {
    try {
      fs.chmod(directory, store.directoryMode());
    } catch (IOException e) {
      store.fresh().change(directory);
    }
  }

  private boolean isOfItsTick(Path directory, Path lock) throws IOException {
    return fs.status(directory).changeTime() == fs.status(lock).changeTime();
  }
}
