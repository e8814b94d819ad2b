package dev.cinch.lease;

import org.jspecify.annotations.Nullable;

/**
 * An upper bound on the timestamps of the messages that were written under a lease and all its
 * predecessors.
 *
 * @param timestamp nanoseconds since the Unix epoch; {@link Long#MIN_VALUE} when nothing was ever
 *     written
 * @param signedTime when the lease service was told, by its signed time; nanoseconds since the Unix
 *     epoch
 * @param latest the latest that it could be then, as far as the service knew; nanoseconds since the
 *     Unix epoch; {@link Long#MIN_VALUE} if it did not say
 */
public record Watermark(long timestamp, long signedTime, long latest) {
  /** Of a name under which nothing was written, as far as the service knows. */
  public static final Watermark NONE =
      new Watermark(Long.MIN_VALUE, Long.MIN_VALUE, Long.MIN_VALUE);

  /**
   * Whether it lies further ahead than allowed of the latest that it could be when the service was
   * told (rule L2): by a bug, or by clocks that are off, nothing under it was written by then.
   * Asked wherever one is taken, so that what a service hands out is taken by all. One that does
   * not say how late it could be is not too far ahead.
   *
   * @param allowedNanos how far is allowed, nanoseconds
   */
  public boolean isTooFarAhead(long allowedNanos) {
    if (latest == Long.MIN_VALUE || timestamp <= latest) {
      return false;
    }
    long ahead = timestamp - latest;
    return ahead < 0 || ahead > allowedNanos; // the difference may be more than a number holds
  }

  /** By hand, as that of {@link Witness}. */
  @Override
  public boolean equals(@Nullable Object o) {
    return o instanceof Watermark w
        && timestamp == w.timestamp
        && signedTime == w.signedTime
        && latest == w.latest;
  }

  @Override
  public int hashCode() {
    return 31 * (31 * Long.hashCode(timestamp) + Long.hashCode(signedTime)) + Long.hashCode(latest);
  }
}
