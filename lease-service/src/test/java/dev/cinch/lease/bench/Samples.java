package dev.cinch.lease.bench;

import java.util.Arrays;

/** Durations in nanoseconds, as many as come; not thread-safe. */
final class Samples {
  private static final double NANOS_PER_MICRO = 1_000;

  private long[] nanos = new long[1 << 12];
  private int size;

  void add(long duration) {
    if (size == nanos.length) {
      nanos = Arrays.copyOf(nanos, 2 * size);
    }
    nanos[size++] = duration;
  }

  void addAll(Samples others) {
    for (int i = 0; i < others.size; i++) {
      add(others.nanos[i]);
    }
  }

  /** What so many of a hundred do not exceed, microseconds; 0 if there are none. */
  double percentile(double percent) {
    if (size == 0) {
      return 0;
    }
    long[] sorted = Arrays.copyOf(nanos, size);
    Arrays.sort(sorted);
    int rank = (int) Math.ceil(percent / 100 * size);
    return sorted[Math.max(0, rank - 1)] / NANOS_PER_MICRO;
  }
}
