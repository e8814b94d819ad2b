package dev.cinch.lease.time;

import java.time.Instant;
import java.util.concurrent.TimeUnit;

/**
 * The machine's own clocks.
 *
 * @param offsetNanos added to the wall clock; not 0 only where a demonstration plays a machine
 *     whose clock is wrong
 */
public record SystemTime(long offsetNanos) implements TimeSource {
  /** The machine's clocks as they are. */
  public static final SystemTime INSTANCE = new SystemTime(0);

  @Override
  public long wallNanos() {
    Instant now = Instant.now();
    return now.getEpochSecond() * 1_000_000_000L + now.getNano() + offsetNanos;
  }

  @Override
  public long monotonicNanos() {
    return System.nanoTime();
  }

  @Override
  public void sleepNanos(long nanos) throws InterruptedException {
    if (nanos > 0) {
      TimeUnit.NANOSECONDS.sleep(nanos);
    }
  }
}
