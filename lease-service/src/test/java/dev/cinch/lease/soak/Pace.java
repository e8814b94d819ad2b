package dev.cinch.lease.soak;

import dev.cinch.lease.time.TimeSource;

/** Lets so many things be done a second, evenly, by any number of threads. Thread-safe. */
final class Pace {
  /** Whoever was stopped for longer does not catch up, nanoseconds. */
  private static final long LATE = 1_000_000_000;

  private final TimeSource time;
  private final long every;
  private long next;

  Pace(TimeSource time, int perSecond) {
    this.time = time;
    this.every = 1_000_000_000L / perSecond;
    this.next = time.monotonicNanos();
  }

  /** Waits for its turn. */
  void await() throws InterruptedException {
    long at;
    synchronized (this) {
      long now = time.monotonicNanos();
      if (now - next > LATE) {
        next = now;
      }
      at = next;
      next += every;
    }
    long left = at - time.monotonicNanos();
    if (left > 0) {
      time.sleepNanos(left);
    }
  }
}
