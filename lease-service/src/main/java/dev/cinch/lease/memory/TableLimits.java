package dev.cinch.lease.memory;

/**
 * The sizes and bounds of a {@link LeaseTable}. Tests shrink them so that limits are hit.
 *
 * @param shards how many shards, at least 1; more mean less contention
 * @param maxEntriesPerShard names remembered per shard, held or not, at least 1
 * @param retentionNanos how long an ended lease is remembered at least unless space is short, and a
 *     grant's id after its end; nanoseconds
 * @param watermarkAheadNanos how far a watermark may be ahead of signed time (rule L2); nanoseconds
 * @param metadataKept metadata entries kept per name (rule L7), 0 or more
 */
public record TableLimits(
    int shards,
    int maxEntriesPerShard,
    long retentionNanos,
    long watermarkAheadNanos,
    int metadataKept) {
  /** 64 shards, 10 million names, 2 minutes, 1 second, 8 entries. */
  public static final TableLimits DEFAULT =
      new TableLimits(64, 10_000_000 / 64, 120_000_000_000L, 1_000_000_000L, 8);

  /**
   * @throws IllegalArgumentException if one is out of range
   */
  public TableLimits {
    if (shards < 1
        || maxEntriesPerShard < 1
        || retentionNanos < 0
        || watermarkAheadNanos < 0
        || metadataKept < 0) {
      throw new IllegalArgumentException("limits out of range");
    }
  }
}
