package dev.cinch.lease.time;

import org.jspecify.annotations.Nullable;

/**
 * The lease service's own time, which it signs: the wall clock as long as that goes forward, and
 * its highest reading so far while it has stepped back (rule L6). Thread-safe.
 *
 * <p>A frozen time is safe, since nothing expires by it; it only makes people wait. But one that
 * followed a clock that was years ahead for a moment would be frozen for years. So whoever can ask
 * somebody else what time it is says so with {@link #trust}, and from then on a wall clock that
 * jumped ahead is not followed until it was looked at again: time goes on by the monotonic clock.
 */
public final class SignedClock {
  /**
   * How much further than the monotonic clock the wall clock may have gone since it was trusted,
   * nanoseconds: NTP moves both alike but for steps, and small steps happen.
   */
  private static final long JUMP = 1_000_000_000L;

  private final TimeSource source;
  private long highest = Long.MIN_VALUE;
  private @Nullable Reading trusted;

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
   * @param wall the wall clock at that moment, nanoseconds since the Unix epoch
   * @param jumped whether it has jumped ahead, and is not followed until it is trusted anew
   */
  public record Reading(long now, long monotonic, long behindNanos, long wall, boolean jumped) {}

  /** Reads both clocks. */
  public synchronized Reading read() {
    // Under the lock: readings of two threads that arrive out of order are no step back.
    long wall = source.wallNanos();
    long monotonic = source.monotonicNanos();
    Reading base = trusted;
    long expected = base == null ? wall : base.wall + (monotonic - base.monotonic);
    boolean jumped = wall - expected > JUMP;
    long followed = jumped ? expected : wall;
    highest = Math.max(highest, followed);
    return new Reading(highest, monotonic, highest - followed, wall, jumped);
  }

  /** Takes note that the wall clock of this reading was found to be right. */
  public synchronized void trust(Reading right) {
    trusted = right;
  }
}
