package dev.cinch.lease.table;

import dev.cinch.lease.rules.WatermarkRule;

/**
 * The sizes and bounds of a {@link MemoryLeases}. Tests shrink them so that limits are hit.
 *
 * @param maxEntries names remembered, held or not, at least 1
 * @param maxBytes what their leases may take in the heap, about (rule L4), at least 1; when they
 *     do, no new name is taken and no metadata
 * @param retentionNanos how long an ended lease is remembered at least unless space is short, and a
 *     grant's id after its end; nanoseconds
 * @param watermarkAheadNanos how far a watermark may be ahead of signed time (rule L2); nanoseconds
 * @param watermarkBehindNanos how far a watermark may lie before the lease was granted (rule L2);
 *     nanoseconds
 * @param metadataKept metadata entries kept per name (rule L7), 0 or more
 */
public record TableLimits(
    int maxEntries,
    long maxBytes,
    long retentionNanos,
    long watermarkAheadNanos,
    long watermarkBehindNanos,
    int metadataKept) {
  /** 10 million names, 2 minutes, 1 second, 1 hour, 8 entries. */
  public static final TableLimits DEFAULT =
      new TableLimits(
          10_000_000, Long.MAX_VALUE, 120_000_000_000L, 1_000_000_000L, 3_600_000_000_000L, 8);

  /**
   * What a held lease takes with a name of 24 characters and a holder of 10. Those with more to say
   * come up against the bytes first.
   */
  private static final long BYTES_PER_LEASE = Room.LEASE_BYTES + 24 + 2 * 10;

  /**
   * The same with watermarks so far ahead of signed time, and as far behind it, unless they may be
   * further already.
   */
  public TableLimits allowing(long nanos) {
    return new TableLimits(
        maxEntries,
        maxBytes,
        retentionNanos,
        Math.max(watermarkAheadNanos, nanos),
        Math.max(watermarkBehindNanos, nanos),
        metadataKept);
  }

  public WatermarkRule watermarks() {
    return new WatermarkRule(watermarkAheadNanos, watermarkBehindNanos);
  }

  /**
   * @throws IllegalArgumentException if one is out of range
   */
  public TableLimits {
    if (maxEntries < 1
        || maxBytes < 1
        || retentionNanos < 0
        || watermarkAheadNanos < 0
        || watermarkBehindNanos < 0
        || metadataKept < 0) {
      throw new IllegalArgumentException("limits out of range");
    }
  }

  /**
   * The defaults, with as many names as two thirds of a heap hold (rule L4): the collector needs
   * some of the rest for what renewals leave behind.
   *
   * @param heapBytes such as {@link Runtime#maxMemory}
   */
  public static TableLimits forHeap(long heapBytes) {
    long most = heapBytes / 3 * 2;
    long names = most / BYTES_PER_LEASE;
    return new TableLimits(
        (int) Math.max(1, Math.min(Integer.MAX_VALUE / 2, names)),
        Math.max(1, most),
        DEFAULT.retentionNanos,
        DEFAULT.watermarkAheadNanos,
        DEFAULT.watermarkBehindNanos,
        DEFAULT.metadataKept);
  }
}
