package dev.cinch.lease.time;

/**
 * Every clock and every wait of Cinch, injected so that tests own time. Thread-safe.
 *
 * <p>No clock is trusted for safety (section 5): a wrong one delays people.
 */
public interface TimeSource {
  /** The machine's wall clock, nanoseconds since the Unix epoch; may step. */
  long wallNanos();

  /** A clock that never steps, of arbitrary origin, in nanoseconds; for deadlines (rule L5). */
  long monotonicNanos();

  /** Waits at least so long by {@link #monotonicNanos}; returns at once for 0 or less. */
  void sleepNanos(long nanos) throws InterruptedException;
}
