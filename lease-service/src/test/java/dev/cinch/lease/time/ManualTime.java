package dev.cinch.lease.time;

/** Clocks that stand still until a test moves them. Thread-safe. */
public final class ManualTime implements TimeSource {
  /** 2026-01-01T00:00:00Z. */
  public static final long START = 1_767_225_600_000_000_000L;

  private long wall = START;
  private long monotonic = -5_000_000_000L;

  @Override
  public synchronized long wallNanos() {
    return wall;
  }

  @Override
  public synchronized long monotonicNanos() {
    return monotonic;
  }

  @Override
  public void sleepNanos(long nanos) {
    if (nanos > 0) {
      advanceNanos(nanos);
    }
  }

  public synchronized void advanceNanos(long nanos) {
    wall += nanos;
    monotonic += nanos;
  }

  public void advanceMs(long ms) {
    advanceNanos(ms * 1_000_000);
  }

  /** Moves the wall clock alone, back or forth. */
  public synchronized void stepWallMs(long ms) {
    wall += ms * 1_000_000;
  }
}
