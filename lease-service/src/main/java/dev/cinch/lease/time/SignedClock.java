package dev.cinch.lease.time;

import org.jspecify.annotations.Nullable;

/**
 * The lease service's own time, which it signs: the wall clock as long as that goes forward, and
 * its highest reading so far while it has stepped back (rule L6). Thread-safe.
 *
 * <p>A frozen time is safe where one machine decides, since nothing expires by it; it only makes
 * people wait. But one that followed a clock that was years ahead for a moment would be frozen for
 * years, and where others go by their own clocks (rule L18) a step back would let them in early. So
 * whoever can ask somebody else what time it is says so with {@link #trust}. From then on a wall
 * clock that was set is not followed until it was looked at again: time goes on by the monotonic
 * clock.
 */
public final class SignedClock {
  /**
   * How far the wall clock and the monotonic one may have gone apart since the wall clock was
   * trusted, nanoseconds: a step that nobody looks at. NTP moves both alike but for steps.
   */
  private static final long STEP = 20_000_000L;

  /** How often the clocks are read again that seem apart: a thread may stop between the two. */
  private static final int READS = 3;

  private final TimeSource source;
  private final long origin;
  private long highest = Long.MIN_VALUE;
  private @Nullable Reading trusted;

  public SignedClock(TimeSource source) {
    this.source = source;
    this.origin = source.wallNanos() - source.monotonicNanos();
  }

  /**
   * One look at both clocks.
   *
   * @param now the service's time, nanoseconds since the Unix epoch; never decreases
   * @param monotonic the monotonic clock at that moment, nanoseconds
   * @param behindNanos how far the wall clock has to go until it has caught up; 0 when it has, and
   *     then only may leases be granted
   * @param wall the wall clock at that moment, nanoseconds since the Unix epoch
   * @param jumped whether it was set, ahead or back, and is not followed until it is trusted anew
   * @param steady the time that has passed by the monotonic clock alone, nanoseconds; about {@code
   *     now} while no clock is set
   */
  public record Reading(
      long now, long monotonic, long behindNanos, long wall, boolean jumped, long steady) {
    /** Whether the wall clock was set ahead, or the machine slept: nobody has looked which. */
    public boolean isAhead() {
      return jumped && wall > now;
    }
  }

  /** Reads both clocks. */
  public synchronized Reading read() {
    // Under the lock: readings of two threads that arrive out of order are no step back.
    Reading base = trusted;
    long wall = source.wallNanos();
    long monotonic = source.monotonicNanos();
    long expected = base == null ? wall : base.wall + (monotonic - base.monotonic);
    for (int i = 1; i < READS && Math.abs(wall - expected) > STEP && base != null; i++) {
      wall = source.wallNanos();
      monotonic = source.monotonicNanos();
      expected = base.wall + (monotonic - base.monotonic);
    }
    boolean jumped = Math.abs(wall - expected) > STEP;
    long followed = jumped ? expected : wall;
    highest = Math.max(highest, followed);
    return new Reading(highest, monotonic, highest - followed, wall, jumped, origin + monotonic);
  }

  /** Takes note that the wall clock of this reading was found to be right. */
  public synchronized void trust(Reading right) {
    trusted = right;
  }
}
