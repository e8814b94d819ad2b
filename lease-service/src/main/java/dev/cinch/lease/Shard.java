package dev.cinch.lease;

import com.google.errorprone.annotations.CheckReturnValue;

/**
 * The part of a store's leases that one server has (rule L16). Immutable and thread-safe.
 *
 * @param map that it belongs to
 * @param index 1 to the map's count
 */
@CheckReturnValue
public record Shard(ShardMap map, int index) {
  /** All names, of a store without a map. */
  public static final Shard WHOLE = new Shard(ShardMap.NONE, 1);

  /**
   * @throws IllegalArgumentException if the map has no such shard
   */
  public Shard {
    if (index < 1 || index > map.count()) {
      throw new IllegalArgumentException(map.inWords() + " has no shard " + index);
    }
  }

  /** Whether it has a name. */
  public boolean has(LeaseName name) {
    return map.shardOf(name) == index;
  }

  /** As it is asked for on the command line, like {@code 2/4}. */
  @Override
  public String toString() {
    return index + "/" + map.count();
  }
}
