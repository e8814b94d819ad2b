package dev.cinch.lease.table;

import dev.cinch.lease.TimeBound;

/**
 * When something is done.
 *
 * @param time the service's signed time, nanoseconds since the Unix epoch
 * @param bound between which times it is by what the service knows, which need not agree with its
 *     own clock
 */
public record Moment(long time, TimeBound bound) {
  /** Of who can vouch for nothing. */
  public static final TimeBound UNKNOWN =
      new TimeBound(Long.MIN_VALUE, Long.MAX_VALUE, TimeBound.Kind.ASSUMED);

  /** The same moment by a signed time that another thread has brought further. */
  public Moment at(long later) {
    return later == time ? this : new Moment(later, bound);
  }

  /**
   * The latest that it can be, nanoseconds since the Unix epoch: what watermarks are held against
   * (rule L2). A bound that is only assumed may follow a clock that was set back, by which a right
   * watermark lies in the future; signed time does not.
   */
  public long latest() {
    return bound.kind() == TimeBound.Kind.MEASURED
        ? bound.latest()
        : Math.max(bound.latest(), time);
  }
}
