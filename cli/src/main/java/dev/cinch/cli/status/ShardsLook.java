package dev.cinch.cli.status;

import dev.cinch.bag.Problem;
import dev.cinch.bag.Problem.Kind;
import dev.cinch.bag.Store;
import dev.cinch.bag.registry.StoreShards;
import dev.cinch.cli.status.LeaseServerLook.Found;
import dev.cinch.cli.status.LeaseServerLook.State;
import dev.cinch.lease.ShardMap;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The lease servers of a store with a shard map (rule L16), each asked where it says that it is.
 *
 * @param map the last one
 * @param servers of its shards, the first one's first
 * @param earlier servers of other maps that still answer
 */
record ShardsLook(ShardMap map, List<Found> servers, List<Found> earlier) {
  /** So many places are asked for servers of earlier maps, those of the latest first. */
  private static final int MOST_EARLIER = 32;

  ShardsLook {
    servers = List.copyOf(servers);
    earlier = List.copyOf(earlier);
  }

  /**
   * Asks all.
   *
   * @param look asks one
   * @return empty if the store has no map
   */
  static Optional<ShardsLook> ask(Store store, LeaseServerLook look) throws IOException {
    StoreShards shards = StoreShards.lookAsPermitted(store.context());
    ShardMap map = shards.map();
    if (map.number() == 0) {
      return Optional.empty();
    }
    var asked = new ArrayList<Supplier<Found>>();
    for (int shard = 1; shard <= map.count(); shard++) {
      asked.add(asking(look, shards.instance(shard)));
    }
    // Where several were, one after the other, only the last one can be.
    var places = new HashSet<String>();
    shards
        .earlier()
        .filter(i -> i.where().map(w -> places.add(w.address())).orElse(false))
        .limit(MOST_EARLIER)
        .forEach(i -> asked.add(asking(look, Optional.of(i))));
    List<Found> found = LeaseServerLook.all(asked);
    return Optional.of(
        new ShardsLook(
            map,
            found.subList(0, map.count()),
            found.stream().skip(map.count()).filter(Found::answers).toList()));
  }

  private static Supplier<Found> asking(
      LeaseServerLook look, Optional<StoreShards.Instance> instance) {
    return () ->
        instance
            .map(i -> itself(look.ask(i), i.number()))
            .orElse(new Found(State.NOT_STARTED, "", 0, "no server has started"));
  }

  /** Where it was, another one may be by now. */
  private static Found itself(Found found, long number) {
    return !found.answers() || found.instance() == number
        ? found
        : new Found(
            State.SILENT,
            found.address(),
            number,
            "has ended, and instance " + found.instance() + " answers in its place");
  }

  /** What of it needs somebody. */
  List<Problem> problems() {
    var found = new ArrayList<Problem>();
    for (int i = 0; i < servers.size(); i++) {
      Found f = servers.get(i);
      String shard = (i + 1) + "/" + map.count();
      if (f.state() == State.NOT_STARTED) {
        String line = "shard %s: %s, and nobody gets its leases: cinch serve --shard %s";
        found.add(new Problem(Kind.SERVER, line.formatted(shard, f.why(), shard)));
      } else {
        found.addAll(f.problems("shard " + shard + ": "));
      }
    }
    for (Found f : earlier) {
      String line =
          "the lease server at %s (instance %d) is of an earlier shard map and still answers: it ends when its leases are over";
      found.add(new Problem(Kind.SERVER, line.formatted(f.address(), f.instance())));
    }
    return found;
  }
}
