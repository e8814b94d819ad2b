package dev.cinch.cli.base;

import dev.cinch.bag.registry.StoreShards;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.lease.Shard;
import dev.cinch.lease.ShardMap;
import java.io.IOException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Which of a store's names a server has (rule L16). */
public final class ShardChoice {
  /** How often a server that waits for its map looks, nanoseconds. */
  private static final long LOOK_NANOS = 200_000_000;

  @Option(
      names = "--shard",
      paramLabel = "K/N",
      description =
          "Share the store with N-1 other servers, and have the names of shard K, from 1. It starts"
              + " once the store's shard map has N shards: see cinch shards set.")
  public @Nullable Wanted wanted;

  /**
   * As it was asked for.
   *
   * @param index from 1
   * @param count of all
   */
  record Wanted(int index, int count) {
    /**
     * Reads {@code 2/4}.
     *
     * @throws IllegalArgumentException if it is no such thing
     */
    static Wanted parse(String text) {
      if (!text.matches("\\d{1,4}/\\d{1,4}")) {
        throw new IllegalArgumentException("not a shard: " + text + " (like 2/4)");
      }
      int slash = text.indexOf('/');
      var wanted =
          new Wanted(
              Integer.parseInt(text.substring(0, slash)),
              Integer.parseInt(text.substring(slash + 1)));
      if (wanted.count < 1
          || wanted.count > ShardMap.MAX_SHARDS
          || wanted.index < 1
          || wanted.index > wanted.count) {
        throw new IllegalArgumentException(
            "there is no shard " + text + ": they are 1/N to N/N, and N is at most 1000");
      }
      return wanted;
    }

    @Override
    public String toString() {
      return index + "/" + count;
    }
  }

  /**
   * The shard by the last map; empty if that has not as many as were asked for.
   *
   * @throws Failure.Refusal if the map has several, and nobody said which one is meant
   */
  public Optional<Shard> now(StoreContext store) throws IOException {
    ShardMap map = StoreShards.look(store).map();
    if (wanted == null) {
      if (map.count() > 1) {
        throw new Failure.Refusal(
            "the store has %s: say which one is served with --shard, like 1/%d"
                .formatted(map.inWords(), map.count()));
      }
      return Optional.of(new Shard(map, 1));
    }
    return map.count() == wanted.count
        ? Optional.of(new Shard(map, wanted.index))
        : Optional.empty();
  }

  /**
   * Waits until the store's map has the shard, so that the servers of a map are there when it is.
   *
   * @return the shard; empty if it was told to stop
   */
  public Optional<Shard> await(StoreContext store, Stop stop)
      throws IOException, InterruptedException {
    Optional<Shard> found = Optional.empty();
    boolean stopped = false;
    while (found.isEmpty() && !stopped) {
      stopped = stop.await(LOOK_NANOS);
      found = now(store);
    }
    return stopped ? Optional.empty() : found;
  }

  /** Whether the store has a later map than that of a shard. */
  public static boolean isMoved(StoreContext store, Shard shard) throws IOException {
    return StoreShards.look(store).map().number() > shard.map().number();
  }
}
