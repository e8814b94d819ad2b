package dev.cinch.lease.memory;

import com.google.errorprone.annotations.CheckReturnValue;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts the operations under way, until none ever is again: so an instance knows that it signs
 * nothing more (rule L19). Thread-safe.
 */
@CheckReturnValue
final class UnderWay {
  /** So far below 0 that no number of those that come too late brings it up. */
  private static final long ENDED = Long.MIN_VALUE / 2;

  private final AtomicLong count = new AtomicLong();

  /** Begins one; false if it is too late, and then it must do nothing. */
  boolean begin() {
    if (count.incrementAndGet() > 0) {
      return true;
    }
    end();
    return false;
  }

  /** Ends one that was begun. */
  void end() {
    long unused = count.decrementAndGet();
  }

  /** Lets none begin any more, if none is under way. */
  boolean endAll() {
    return count.compareAndSet(0, ENDED) || hasEnded();
  }

  boolean hasEnded() {
    return count.get() < 0;
  }
}
