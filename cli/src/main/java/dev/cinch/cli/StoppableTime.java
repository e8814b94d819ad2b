package dev.cinch.cli;

import dev.cinch.lease.time.TimeSource;

/**
 * Waits that a signal ends, until {@link #settle} is called: leases that are held by others and
 * fences may be waited for long, and nothing is lost by giving up. Once messages are on their way
 * their verdicts are waited out. Only waits end early, never requests or file operations, so that
 * what was taken can be given back. Thread-safe.
 */
final class StoppableTime implements TimeSource {
  private final TimeSource time;
  private final Stop stop;
  private volatile boolean settled;

  StoppableTime(TimeSource time, Stop stop) {
    this.time = time;
    this.stop = stop;
  }

  /** From now on waits last as long as they are meant to. */
  void settle() {
    settled = true;
  }

  @Override
  public long wallNanos() {
    return time.wallNanos();
  }

  @Override
  public long monotonicNanos() {
    return time.monotonicNanos();
  }

  @Override
  public void sleepNanos(long nanos) throws InterruptedException {
    if (settled) {
      time.sleepNanos(nanos);
    } else if (stop.await(nanos)) {
      throw new InterruptedException("stopped by " + stop.name());
    }
  }
}
