package dev.cinch.lease.time;

/**
 * The lease service's own time, which it signs: the wall clock as long as that goes forward, and
 * its highest reading so far while it has stepped back (rule L6). Thread-safe.
 *
 * <p>A frozen time is safe, since nothing expires by it; it only makes people wait.
 */
public final class SignedClock {
  private final TimeSource source;
  private long highest = Long.MIN_VALUE;

  public SignedClock(TimeSource source) {
    this.source = source;
  }

  /**
   * One look at both clocks.
   *
   * @param now the service's time, nanoseconds since the Unix epoch; never decreases
   * @param monotonic the monotonic clock at that moment, nanoseconds
   * @param behindNanos how far the wall clock has to go until it has caught up; 0 when it has, and
   *     then only may leases be granted
   */
  public record Reading(long now, long monotonic, long behindNanos) {}

  /** Reads both clocks. */
  public synchronized Reading read() {
    // Under the lock: readings of two threads that arrive out of order are no step back.
    long wall = source.wallNanos();
    highest = Math.max(highest, wall);
    return new Reading(highest, source.monotonicNanos(), highest - wall);
  }
}
