package dev.cinch.lease;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.google.errorprone.annotations.CheckReturnValue;
import java.nio.ByteBuffer;

/**
 * How the names of leases are spread over the servers that share a store (rule L16). Immutable and
 * thread-safe.
 *
 * @param number of the map, from 1; 0 for {@link #NONE}
 * @param count how many shards there are, 1 to {@link #MAX_SHARDS}
 */
@CheckReturnValue
public record ShardMap(long number, int count) {
  public static final int MAX_SHARDS = 1_000;

  /** Of a store that has no map: one shard has all names. */
  public static final ShardMap NONE = new ShardMap(0, 1);

  /**
   * @throws IllegalArgumentException for a count out of range
   */
  public ShardMap {
    if (count < 1 || count > MAX_SHARDS || number < 0) {
      throw new IllegalArgumentException(
          "a shard map has 1 to " + MAX_SHARDS + " shards, not " + count);
    }
  }

  /**
   * The shard that has a name, 1 to {@link #count}: one more than the remainder, divided by the
   * count, of the first 8 bytes of the name's SHA-256 as a big-endian number without a sign.
   */
  public int shardOf(LeaseName name) {
    if (count == 1) {
      return 1;
    }
    byte[] digest = Sha256.of(name.value().getBytes(US_ASCII));
    return (int) Long.remainderUnsigned(ByteBuffer.wrap(digest).getLong(), count) + 1;
  }

  /** In words, like {@code shard map 2 of 4 shards}. */
  public String inWords() {
    return "shard map " + number + " of " + count + (count == 1 ? " shard" : " shards");
  }
}
