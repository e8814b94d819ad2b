package dev.cinch.bag.write;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.time.TimeSource;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The timestamps of one process: strictly increasing, over all its logs and incarnations (section
 * 1). Thread-safe; one for an open store.
 */
@CheckReturnValue
public final class Timestamps {
  private final TimeSource time;
  private final AtomicLong last = new AtomicLong(Long.MIN_VALUE);

  public Timestamps(TimeSource time) {
    this.time = time;
  }

  /**
   * Takes the next timestamp: the clock's, or the lowest one above all that were taken and above
   * the lower bound.
   *
   * @return it, or {@link Long#MIN_VALUE} if it would be further than {@code distance} ahead of the
   *     clock: wait
   */
  long next(long lowerBound, long distance) {
    while (true) {
      long now = time.wallNanos();
      long before = last.get();
      long next = Math.max(now, Math.max(before, lowerBound) + 1);
      if (next - now > distance) {
        return Long.MIN_VALUE;
      }
      if (last.compareAndSet(before, next)) {
        return next;
      }
    }
  }

  /** How long until a timestamp above the lower bound may be taken; 0 if now. */
  long waitNanos(long lowerBound, long distance) {
    return Math.max(0, Math.max(last.get(), lowerBound) + 1 - distance - time.wallNanos());
  }
}
