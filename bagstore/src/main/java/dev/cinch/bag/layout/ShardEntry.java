package dev.cinch.bag.layout;

import java.util.Optional;
import java.util.OptionalLong;

/**
 * The name of the file that says which shard an instance of the lease service has: {@code
 * <instance>-<map>-<shard>} beside its number (rule L16).
 *
 * @param instance its number
 * @param map the number of the shard map
 * @param shard from 1
 */
public record ShardEntry(long instance, long map, int shard) {
  private static final int NUMBER = 10;
  private static final int SHARD = 4;

  /** The entry that a name stands for; empty for a name of another kind. */
  public static Optional<ShardEntry> parse(String name) {
    if (name.length() != 2 * NUMBER + SHARD + 2
        || name.charAt(NUMBER) != '-'
        || name.charAt(2 * NUMBER + 1) != '-') {
      return Optional.empty();
    }
    OptionalLong instance = Numbered.parse(name.substring(0, NUMBER));
    OptionalLong map = Numbered.parse(name.substring(NUMBER + 1, 2 * NUMBER + 1));
    OptionalLong shard = Numbered.parse(name.substring(2 * NUMBER + 2), SHARD);
    return instance.isEmpty() || map.isEmpty() || shard.orElse(0) < 1
        ? Optional.empty()
        : Optional.of(
            new ShardEntry(instance.getAsLong(), map.getAsLong(), (int) shard.getAsLong()));
  }

  @Override
  public String toString() {
    return Numbered.name(instance) + "-" + Numbered.name(map) + "-" + Numbered.padded(shard, SHARD);
  }
}
