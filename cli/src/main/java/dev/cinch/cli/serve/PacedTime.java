package dev.cinch.cli.serve;

import dev.cinch.cli.base.Misuse;
import dev.cinch.lease.time.TimeSource;

/**
 * Clocks of a machine whose monotonic clock has the wrong rate, for demonstrations. Its wall clock
 * stays right, as NTP keeps it.
 *
 * @param of the clocks that are right
 * @param rate how much of its own time passes in a second, above 0
 */
record PacedTime(TimeSource of, double rate) implements TimeSource {
  /** The clocks themselves where the rate is 1. */
  static TimeSource of(TimeSource clocks, double rate) {
    if (!(rate >= 0.5 && rate <= 2)) {
      throw new Misuse("--clock-rate is 0.5 to 2");
    }
    return rate == 1 ? clocks : new PacedTime(clocks, rate);
  }

  @Override
  public long wallNanos() {
    return of.wallNanos();
  }

  @Override
  public long monotonicNanos() {
    return (long) (of.monotonicNanos() * rate);
  }

  @Override
  public void sleepNanos(long nanos) throws InterruptedException {
    of.sleepNanos((long) (nanos / rate));
  }
}
