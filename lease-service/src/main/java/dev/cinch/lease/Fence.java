package dev.cinch.lease;

import org.jspecify.annotations.Nullable;

/**
 * The time through which the horizon of some logs must have advanced before the holder of a lease
 * may read for its decisions, or write (rule L8).
 *
 * @param upTo nanoseconds since the Unix epoch; {@link Long#MIN_VALUE} when nothing needs a fence
 * @param logs the logs concerned; empty when nothing needs a fence
 */
public record Fence(long upTo, LogSet logs) {
  /** Nothing has to be fenced. */
  public static final Fence NONE = new Fence(Long.MIN_VALUE, LogSet.NONE);

  public boolean isNone() {
    return upTo == Long.MIN_VALUE;
  }

  /** What satisfies both: the later time, for the union of the logs. */
  public Fence and(Fence other) {
    return new Fence(Math.max(upTo, other.upTo), logs.union(other.logs));
  }

  /** By hand, as that of {@link Witness}. */
  @Override
  public boolean equals(@Nullable Object o) {
    return o instanceof Fence fence && upTo == fence.upTo && logs.equals(fence.logs);
  }

  @Override
  public int hashCode() {
    return 31 * Long.hashCode(upTo) + logs.hashCode();
  }
}
