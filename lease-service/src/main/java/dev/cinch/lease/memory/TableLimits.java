package dev.cinch.lease.memory;

/**
 * The sizes and bounds of a {@link LeaseTable}. Tests shrink them so that limits are hit.
 *
 * @param shards how many shards, at least 1; more mean less contention
 * @param maxEntriesPerShard names remembered per shard, held or not, at least 1
 * @param retentionNanos how long an ended lease is remembered at least unless space is short, and a
 *     grant's id after its end; nanoseconds
 * @param watermarkAheadNanos how far a watermark may be ahead of signed time (rule L2); nanoseconds
 * @param watermarkBehindNanos how far a watermark may lie before the lease was granted (rule L2);
 *     nanoseconds
 * @param metadataKept metadata entries kept per name (rule L7), 0 or more
 */
public record TableLimits(
    int shards,
    int maxEntriesPerShard,
    long retentionNanos,
    long watermarkAheadNanos,
    long watermarkBehindNanos,
    int metadataKept) {
  /** 64 shards, 10 million names, 2 minutes, 1 second, 1 hour, 8 entries. */
  public static final TableLimits DEFAULT =
      new TableLimits(64, 10_000_000 / 64, 120_000_000_000L, 1_000_000_000L, 3_600_000_000_000L, 8);

  /** What a held lease with a name of 20 characters takes, measured, and some more. */
  private static final long BYTES_PER_LEASE = 450;

  /**
   * @throws IllegalArgumentException if one is out of range
   */
  public TableLimits {
    if (shards < 1
        || maxEntriesPerShard < 1
        || retentionNanos < 0
        || watermarkAheadNanos < 0
        || watermarkBehindNanos < 0
        || metadataKept < 0) {
      throw new IllegalArgumentException("limits out of range");
    }
  }

  /**
   * The defaults, with no more names than three fifths of a heap hold (rule L4).
   *
   * @param heapBytes such as {@link Runtime#maxMemory}
   */
  public static TableLimits forHeap(long heapBytes) {
    long names = heapBytes / 5 * 3 / BYTES_PER_LEASE;
    long perShard = Math.min(DEFAULT.maxEntriesPerShard, names / DEFAULT.shards);
    return new TableLimits(
        DEFAULT.shards,
        (int) Math.max(1, perShard),
        DEFAULT.retentionNanos,
        DEFAULT.watermarkAheadNanos,
        DEFAULT.watermarkBehindNanos,
        DEFAULT.metadataKept);
  }
}
