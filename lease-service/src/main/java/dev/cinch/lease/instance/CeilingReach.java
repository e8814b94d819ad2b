package dev.cinch.lease.instance;

import com.google.errorprone.annotations.CheckReturnValue;
import java.util.concurrent.atomic.AtomicLong;

/**
 * How far ceilings go: close above what is granted or prolonged, since a later instance waits for
 * them; and no further where nobody holds a lease (rule L3). Thread-safe.
 */
@CheckReturnValue
final class CeilingReach {
  /** How far above what is granted ceilings lie at least if they may, nanoseconds. */
  private static final long LEAST_AHEAD = 1_000_000_000L;

  private final long mostAhead;

  /** The longest duration that was granted since the last ceiling, nanoseconds; 0: none. */
  private final AtomicLong granted = new AtomicLong();

  /**
   * @param mostAhead how far above what is granted they may lie, nanoseconds
   */
  CeilingReach(long mostAhead) {
    this.mostAhead = mostAhead;
  }

  /** A lease was granted or prolonged for so long. */
  void note(long durationNanos) {
    if (granted.get() < durationNanos) {
      long unused = granted.accumulateAndGet(durationNanos, Math::max);
    }
  }

  /** The longest that was granted since the last ceiling, or this; nanoseconds. */
  long longest(long durationNanos) {
    return Math.max(durationNanos, granted.get());
  }

  /** How far above a lease of that length a ceiling is published: as far again, within bounds. */
  long ahead(long durationNanos) {
    return Math.min(mostAhead, Math.max(LEAST_AHEAD, durationNanos));
  }

  /** Whether so much is less than what is granted and half of what a ceiling is ahead by. */
  boolean isShort(long leftNanos) {
    long longest = granted.get();
    return longest > 0 && leftNanos < longest + ahead(longest) / 2;
  }

  /** A ceiling was published for leases of that length. */
  void published(long longest) {
    // What is granted from now on makes the next one due; and what was noted meanwhile.
    if (granted.get() <= longest) {
      granted.set(0); // one that is lost between these two publishes its ceiling by itself
    }
  }
}
