package dev.cinch.bag.storage.posix;

import dev.cinch.bag.fs.StoreFs;
import java.io.IOException;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Changes a bucket, where other machines may look, in a later tick of the server's clock than that
 * in which the lock was linked. A client that looked just before the link would else believe for
 * ever that there is none: its kernel goes by the directory's change time, and its user may not be
 * permitted to make an entry, which changes that (rule N2).
 */
final class LaterTick {
  private static final Logger LOG = LoggerFactory.getLogger(LaterTick.class);

  /** How coarse change times may be: a whole second on some servers. */
  private static final long SHORTEST_TICK_NANOS = 1_000_000;

  private static final long LONGEST_TICK_NANOS = 1L << 30;

  private LaterTick() {}

  static void change(PosixStore store, Path directory, Path lock) {
    try {
      if (store.fs().isLocal(directory)) {
        return;
      }
      change(store, directory);
      for (long pause = SHORTEST_TICK_NANOS;
          pause <= LONGEST_TICK_NANOS && isOfItsTick(store, directory, lock);
          pause *= 2) {
        store.time().sleepNanos(pause);
        change(store, directory);
      }
    } catch (IOException e) {
      LOG.debug("{}: left as it was: {}", directory, e.toString());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the bucket is closed all the same
    }
  }

  /** Gives it its own mode once more, or where that is another user's to set makes an entry. */
  private static void change(PosixStore store, Path directory) throws IOException {
    try {
      store.fs().chmod(directory, store.directoryMode());
    } catch (IOException e) {
      store.fresh().change(directory);
    }
  }

  private static boolean isOfItsTick(PosixStore store, Path directory, Path lock)
      throws IOException {
    StoreFs fs = store.fs();
    return fs.status(directory).changeTime() == fs.status(lock).changeTime();
  }
}
