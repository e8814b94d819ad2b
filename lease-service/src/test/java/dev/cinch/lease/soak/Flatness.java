package dev.cinch.lease.soak;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Whether what was sampled again and again stays what it is: the median of the last third is at
 * most that of the second third, a twentieth more and a constant.
 *
 * @param what is sampled
 * @param slack the constant, which covers what caches and collections do in between
 */
record Flatness(String what, long slack) {
  private static final int THIRDS = 3;
  private static final int TWENTIETH = 20;

  /** Says by how much it grew; empty if it is flat. */
  Optional<String> objection(List<Long> samples) {
    int third = samples.size() / THIRDS;
    if (third == 0) {
      return Optional.of(what + ": " + samples.size() + " samples are too few");
    }
    long before = median(samples.subList(samples.size() - 2 * third, samples.size() - third));
    long after = median(samples.subList(samples.size() - third, samples.size()));
    return after <= before + before / TWENTIETH + slack
        ? Optional.empty()
        : Optional.of(what + " grew from " + before + " to " + after);
  }

  static long median(List<Long> samples) {
    long[] sorted = samples.stream().mapToLong(Long::longValue).toArray();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }
}
