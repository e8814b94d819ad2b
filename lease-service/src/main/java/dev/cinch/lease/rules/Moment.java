package dev.cinch.lease.rules;

import dev.cinch.lease.TimeBound;

/**
 * When something is done.
 *
 * @param time the service's signed time, nanoseconds since the Unix epoch
 * @param bound between which times it is by what the service knows, which need not agree with its
 *     own clock
 * @param steady the same by a clock that no step moves, nanoseconds from any origin; {@link
 *     #UNSTEADY} where several machines decide, which have no such clock in common
 * @param apart how far the clock by which another machine decided may be ahead of this one,
 *     nanoseconds, 0 or more; 0 where one machine decides
 */
public record Moment(long time, TimeBound bound, long steady, long apart) {
  /** Of who can vouch for nothing. */
  public static final TimeBound UNKNOWN =
      new TimeBound(Long.MIN_VALUE, Long.MAX_VALUE, TimeBound.Kind.ASSUMED);

  /** No steady clock. */
  public static final long UNSTEADY = Long.MIN_VALUE;

  /** Where one machine decides, whose clock no step has moved. */
  public Moment(long time, TimeBound bound) {
    this(time, bound, time, 0);
  }

  /** The same moment by a signed time that another thread has brought further. */
  public Moment at(long later) {
    return later == time ? this : new Moment(later, bound, steady, apart);
  }

  /** The same moment where several machines decide, whose clocks are so far apart at most. */
  public Moment among(long nanos) {
    return new Moment(time, bound, UNSTEADY, nanos);
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
