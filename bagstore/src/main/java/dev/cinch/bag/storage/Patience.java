package dev.cinch.bag.storage;

import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.Optional;

/**
 * Patience with something that looks missing: users who see past every cache need not wait; those
 * who may only read look again until every cache has expired. Begins when it is first asked. Not
 * thread-safe.
 */
public interface Patience {
  /** Where nothing looks missing that is there. */
  Patience NONE = new Patience() {};

  /** Whether every cache has expired since this was first asked, or there is none. */
  default boolean isOver() {
    return true;
  }

  /**
   * Waits a while where another look may show more.
   *
   * @return false if it would not: what looked missing then is missing
   */
  default boolean again() throws IOException {
    return false;
  }

  /** Waits for something that may not be seen yet. */
  static void sleep(TimeSource time, Object what, long nanos) throws InterruptedIOException {
    try {
      time.sleepNanos(nanos);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while waiting for " + what);
    }
  }

  /** Looks for something. */
  @FunctionalInterface
  interface Look<T> {
    Optional<T> now() throws IOException;
  }

  /** Looks, and again where another look may show more; empty if it is missing. */
  default <T> Optional<T> find(Look<T> look) throws IOException {
    Optional<T> found = look.now();
    while (found.isEmpty() && again()) {
      found = look.now();
    }
    return found;
  }
}
