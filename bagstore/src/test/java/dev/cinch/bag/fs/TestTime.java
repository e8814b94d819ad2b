package dev.cinch.bag.fs;

import dev.cinch.lease.time.TimeSource;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Clocks that only tests and sleepers move: every look at the wall clock takes a microsecond, so
 * that two changes of a file never have the same time, and a sleep advances both clocks.
 * Thread-safe.
 */
public final class TestTime implements TimeSource {
  /** 2026-01-01T00:00:00Z. */
  public static final long START = 1_767_225_600_000_000_000L;

  private static final long TICK_NANOS = 1_000;

  private long wall = START;
  private long monotonic = -7_000_000_000L;

  @Override
  public synchronized long wallNanos() {
    advanceNanos(TICK_NANOS);
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

  /** The same time as a machine sees it whose wall clock is ahead by so much, or behind. */
  public TimeSource skewed(long nanos) {
    return skewed(new AtomicLong(nanos));
  }

  /** As {@link #skewed(long)}, by what may change. */
  public TimeSource skewed(AtomicLong nanos) {
    return new TimeSource() {
      @Override
      public long wallNanos() {
        return TestTime.this.wallNanos() + nanos.get();
      }

      @Override
      public long monotonicNanos() {
        return TestTime.this.monotonicNanos();
      }

      @Override
      public void sleepNanos(long wait) {
        TestTime.this.sleepNanos(wait);
      }
    };
  }

  /**
   * The clocks of a machine that slept for so long, and does not know it yet; its sleeps are
   * everybody's.
   */
  public TimeSource lagging(AtomicLong nanos) {
    return new TimeSource() {
      @Override
      public long wallNanos() {
        return TestTime.this.wallNanos() - nanos.get();
      }

      @Override
      public long monotonicNanos() {
        return TestTime.this.monotonicNanos() - nanos.get();
      }

      @Override
      public void sleepNanos(long wait) {
        TestTime.this.sleepNanos(wait);
      }
    };
  }
}
