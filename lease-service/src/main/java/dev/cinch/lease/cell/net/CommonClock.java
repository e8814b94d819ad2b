package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Algorithm;
import dev.cinch.lease.cell.Flease;
import dev.cinch.lease.time.TimeSource;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The wall clock as Flease wants it: nanoseconds since the Unix epoch that don't go back when the
 * clock is set back a little. The highest reading so far is as near to the common time as the
 * clock's own readings are, since that time never goes back.
 *
 * <p>A clock that is set back by more than the error that is allowed was wrong before, or is now.
 * It is followed, or it would stay as wrong for as long as it was ahead. Nothing keeps leases from
 * two owners then: such a node must not take part.
 *
 * <p>Thread-safe.
 */
public final class CommonClock implements LongSupplier {
  private static final Logger LOG = LoggerFactory.getLogger(CommonClock.class);

  private final LongSupplier wall;
  private final long epsilon;
  private final AtomicLong last = new AtomicLong(Long.MIN_VALUE);

  /**
   * @param epsilon by how much the clock may be set back, nanoseconds
   */
  CommonClock(LongSupplier wall, long epsilon) {
    this.wall = wall;
    this.epsilon = epsilon;
  }

  /**
   * The clock that the machines of a node go by, nanoseconds; thread-safe. That of PaxosLease
   * counts from 0, so that no time of it is negative.
   */
  public static LongSupplier of(Algorithm algorithm, TimeSource time) {
    if (algorithm instanceof Flease flease) {
      return new CommonClock(time::wallNanos, flease.epsilon());
    }
    long origin = time.monotonicNanos();
    return () -> time.monotonicNanos() - origin;
  }

  @Override
  public long getAsLong() {
    while (true) {
      long before = last.get(); // before the clock, or another thread's later reading seems a step
      long now = wall.getAsLong();
      if (now <= before && now >= before - epsilon) {
        return before;
      }
      if (last.compareAndSet(before, now)) {
        if (now < before) {
          LOG.error(
              "the clock was set back by {} ms, and {} ms is what the cell allows: this node's"
                  + " leases are not safe until it is right",
              (before - now) / 1_000_000,
              epsilon / 1_000_000);
        }
        return now;
      }
    }
  }
}
