package dev.cinch.lease.rules;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Watermark;
import dev.cinch.lease.Witness;
import org.jspecify.annotations.Nullable;

/**
 * What a new lease of a name takes over from everything before it.
 *
 * @param generation the highest that the name may have had; 0 if it never had one
 * @param correlation of the lease before, if known
 * @param ending how that one ended
 * @param endedAt when; {@link Long#MIN_VALUE} if unknown or there was none
 * @param watermark at or above everything written under leases that were released
 * @param fence for everything else
 */
public record Inheritance(
    long generation,
    @Nullable Id correlation,
    Ending ending,
    long endedAt,
    Watermark watermark,
    Fence fence) {
  /** Of a name without a lease: not even the place before a first one. */
  static final Inheritance NOTHING =
      new Inheritance(-1, null, Ending.NONE, Long.MIN_VALUE, Watermark.NONE, Fence.NONE);

  /** Of a name never seen, where {@code ending} and {@code fence} are the instance's. */
  public static Inheritance origin(Ending ending, Fence fence) {
    return new Inheritance(0, null, ending, Long.MIN_VALUE, Watermark.NONE, fence);
  }

  /** Of a name that may be this one or the other and is no longer known (rule L4). */
  public Inheritance orForgotten(Inheritance other) {
    Watermark higher =
        watermark.timestamp() >= other.watermark.timestamp() ? watermark : other.watermark;
    return new Inheritance(
            Math.max(generation, other.generation),
            null,
            Ending.UNKNOWN,
            Long.MIN_VALUE,
            higher,
            fence.and(other.fence))
        .bounded();
  }

  /** Rule L4: a fence for all logs where they are more than a witness names: unions only grow. */
  Inheritance bounded() {
    return fence.logs().ids().size() > Witness.MAX_LOGS ? forAllLogs() : this;
  }

  /** The same with a fence for all logs. */
  Inheritance forAllLogs() {
    return with(watermark, new Fence(fence.upTo(), LogSet.ALL));
  }

  /** Once the horizon has passed the fence, which stays a lower bound (rule L8). */
  Inheritance fenced(long now, long latest) {
    boolean isHigher = fence.upTo() > watermark.timestamp();
    return with(isHigher ? new Watermark(fence.upTo(), now, latest) : watermark, Fence.NONE);
  }

  private Inheritance with(Watermark newWatermark, Fence newFence) {
    return new Inheritance(generation, correlation, ending, endedAt, newWatermark, newFence);
  }
}
