package dev.cinch.bag.write;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.time.TimeSource;
import java.util.ArrayList;
import java.util.List;

/**
 * The timestamps of one process: strictly increasing over all messages that were written, or may
 * have been, in all its logs and incarnations (section 1). Thread-safe; one for an open store.
 *
 * <p>Those of messages of which no byte was written are given back: a clock that was far ahead for
 * a while must not hold up the process once it is right again.
 */
@CheckReturnValue
public final class Timestamps {
  /** Instead of a timestamp: it would be too far ahead of the clock. */
  static final long WAIT = Long.MIN_VALUE;

  private final TimeSource time;

  /** What somebody has taken and not settled. */
  private final List<Taken> unsettled = new ArrayList<>();

  /** The highest that may have been written. */
  private long written = Long.MIN_VALUE;

  /** The highest that may have been written or still may be. */
  private long last = Long.MIN_VALUE;

  public Timestamps(TimeSource time) {
    this.time = time;
  }

  /** What one writer has taken. Guarded by its {@link Timestamps}. */
  static final class Taken {
    private long highest = Long.MIN_VALUE;
  }

  /**
   * Takes the next timestamp: the clock's, or the lowest one above all others and above the lower
   * bound.
   *
   * @param taken whose it will be, until settled
   * @return it; one at or above the upper bound is not taken; {@link #WAIT} if it would be further
   *     than {@code distance} ahead of the clock
   */
  synchronized long next(Taken taken, long lowerBound, long upperBound, long distance) {
    long clock = time.wallNanos();
    long next = Math.max(clock, Math.max(last, lowerBound) + 1);
    if (next - clock > distance) {
      return WAIT;
    }
    if (next < upperBound) {
      if (taken.highest == Long.MIN_VALUE) {
        unsettled.add(taken);
      }
      taken.highest = next;
      last = next;
    }
    return next;
  }

  /**
   * Settles what a writer took, up to what it still has. What is above all that may have been
   * written and all that others have is free again.
   *
   * @param upTo the highest that may have been written; {@link Long#MIN_VALUE} for none
   * @param left the highest that it still has; {@link Long#MIN_VALUE} for none
   */
  synchronized void settle(Taken taken, long upTo, long left) {
    written = Math.max(written, upTo);
    taken.highest = left;
    if (left == Long.MIN_VALUE) {
      boolean unused = unsettled.remove(taken);
    }
    last = written;
    for (Taken t : unsettled) {
      last = Math.max(last, t.highest);
    }
  }

  /** At or above every timestamp that may have been written, or may still be by who has it now. */
  public synchronized long highest() {
    return last;
  }

  /** How long until a timestamp above the lower bound may be taken; 0 if now. */
  synchronized long waitNanos(long lowerBound, long distance) {
    return Math.max(0, Math.max(last, lowerBound) + 1 - distance - time.wallNanos());
  }
}
