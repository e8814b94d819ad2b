package dev.cinch.lease.time;

/** Other clocks, for tests that change one of them. */
public class ForwardingTime implements TimeSource {
  private final TimeSource time;

  public ForwardingTime(TimeSource time) {
    this.time = time;
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
    time.sleepNanos(nanos);
  }
}
