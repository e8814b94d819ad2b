package dev.cinch.lease.time;

import java.util.concurrent.atomic.AtomicLong;

/** Clocks that only tests and sleepers move. Thread-safe. */
public final class ManualTime implements TimeSource {
  /** 2026-01-01T00:00:00Z. */
  public static final long START = 1_767_225_600_000_000_000L;

  private final long tickNanos;
  private long wall = START;
  private long monotonic = -5_000_000_000L;

  /** Clocks that stand still until then. */
  public ManualTime() {
    this(0);
  }

  private ManualTime(long tickNanos) {
    this.tickNanos = tickNanos;
  }

  /**
   * Whose every look at the wall clock takes a microsecond, so that two changes of a file never
   * have the same time.
   */
  public static ManualTime ticking() {
    return new ManualTime(1_000);
  }

  @Override
  public synchronized long wallNanos() {
    advanceNanos(tickNanos);
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

  /** The same time as a machine sees it whose wall clock is ahead by so much, or behind. */
  public TimeSource skewed(long nanos) {
    return skewed(new AtomicLong(nanos));
  }

  /** As {@link #skewed(long)}, by what may change. */
  public TimeSource skewed(AtomicLong nanos) {
    return new ForwardingTime(this) {
      @Override
      public long wallNanos() {
        return super.wallNanos() + nanos.get();
      }
    };
  }

  /**
   * The clocks of a machine that slept for so long, and does not know it yet; its sleeps are
   * everybody's.
   */
  public TimeSource lagging(AtomicLong nanos) {
    return new ForwardingTime(this) {
      @Override
      public long wallNanos() {
        return super.wallNanos() - nanos.get();
      }

      @Override
      public long monotonicNanos() {
        return super.monotonicNanos() - nanos.get();
      }
    };
  }
}
