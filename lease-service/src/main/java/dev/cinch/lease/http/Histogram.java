package dev.cinch.lease.http;

import java.util.concurrent.atomic.LongAdder;

/** How long things took, in buckets. Counting allocates nothing. Thread-safe. */
final class Histogram {
  private static final long NANOS_PER_MICRO = 1_000;
  private static final double MICROS_PER_SECOND = 1e6;

  /** Upper ends of the buckets, microseconds; the last one has none. */
  private static final long[] ENDS = {
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000
  };

  private final LongAdder[] buckets = new LongAdder[ENDS.length + 1];
  private final LongAdder nanos = new LongAdder();

  Histogram() {
    for (int i = 0; i < buckets.length; i++) {
      buckets[i] = new LongAdder();
    }
  }

  void add(long tookNanos) {
    int i = 0;
    while (i < ENDS.length && tookNanos > ENDS[i] * NANOS_PER_MICRO) {
      i++;
    }
    buckets[i].increment();
    nanos.add(tookNanos);
  }

  /** Writes it, if anything was counted. */
  void write(Exposition out, String labels) {
    long[] counts = new long[buckets.length];
    long all = 0;
    for (int i = 0; i < counts.length; i++) {
      all += buckets[i].sum();
      counts[i] = all;
    }
    if (all == 0) {
      return;
    }
    for (int i = 0; i < counts.length; i++) {
      String end = i < ENDS.length ? Double.toString(ENDS[i] / MICROS_PER_SECOND) : "+Inf";
      out.sample("_bucket", labels + ",le=\"" + end + "\"", Long.toString(counts[i]));
    }
    out.sample("_sum", labels, Double.toString(nanos.sum() / 1e9));
    out.sample("_count", labels, Long.toString(all));
  }
}
