package dev.cinch.cli;

import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.time.Duration;
import java.util.random.RandomGenerator;

/** Tries again to take leases that others hold, until a time is over. */
final class LeaseWait {
  /** A holder may release long before its time is over, so nobody waits longer than this. */
  private static final long LONGEST_PAUSE_NANOS = 1_000_000_000;

  private static final long SHORTEST_PAUSE_NANOS = 20_000_000;
  private static final long NANOS_PER_MS = 1_000_000;

  private LeaseWait() {}

  /** Asks for leases once. */
  @FunctionalInterface
  interface Attempt<T> {
    T take()
        throws LeaseRefusedException, LeaseUnavailableException, IOException, InterruptedException;
  }

  /**
   * Takes leases.
   *
   * @param wait how long to try again while one is held, or the service does not grant yet; 0: not
   *     at all
   * @param random spreads out those who wait for the same
   * @throws LeaseRefusedException the last refusal, which names the holder
   */
  static <T> T take(Duration wait, TimeSource time, RandomGenerator random, Attempt<T> attempt)
      throws LeaseRefusedException, LeaseUnavailableException, IOException, InterruptedException {
    long start = time.monotonicNanos();
    while (true) {
      try {
        return attempt.take();
      } catch (LeaseRefusedException e) {
        boolean passes = e.reason() == Reason.HELD || e.reason() == Reason.NOT_YET;
        if (!passes || wait.isZero()) {
          throw e;
        }
        long left = wait.toNanos() - (time.monotonicNanos() - start);
        if (left <= 0) {
          throw new LeaseRefusedException(
              e.reason(),
              "%s; waited %.1f s".formatted(e.getMessage(), wait.toNanos() / 1e9),
              e.retryAfterMs());
        }
        time.sleepNanos(Math.min(left, pause(e.retryAfterMs(), random)));
      }
    }
  }

  /** Half of the time that the service names, to all of it. */
  private static long pause(long retryAfterMs, RandomGenerator random) {
    long most =
        retryAfterMs <= 0 || retryAfterMs > LONGEST_PAUSE_NANOS / NANOS_PER_MS
            ? LONGEST_PAUSE_NANOS
            : retryAfterMs * NANOS_PER_MS;
    return Math.max(SHORTEST_PAUSE_NANOS, most / 2 + random.nextLong(most / 2 + 1));
  }
}
