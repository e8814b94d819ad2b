package dev.cinch.cli.status;

import dev.cinch.bag.Store;
import dev.cinch.bag.registry.StoreShards;
import dev.cinch.cli.status.LeaseServerLook.Found;
import dev.cinch.cli.status.LeaseServerLook.State;
import dev.cinch.cli.status.StoreReport.Attention;
import dev.cinch.cli.status.StoreReport.Kind;
import dev.cinch.lease.ShardMap;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;

/**
 * The lease servers of a store with a shard map (rule L16), each asked where it says that it is.
 *
 * @param map the last one
 * @param servers of its shards, the first one's first
 * @param earlier servers of other maps that still answer
 */
record ShardsLook(ShardMap map, List<Found> servers, List<Found> earlier) {
  /** Each that is silent takes some seconds. */
  private static final int AT_ONCE = 32;

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
    var current = new ArrayList<Supplier<Found>>();
    for (int shard = 1; shard <= map.count(); shard++) {
      current.add(asking(look, shards.instance(shard)));
    }
    // Where several were, one after the other, only the last one can be.
    var places = new HashSet<String>();
    List<Supplier<Found>> earlier =
        shards
            .earlier()
            .filter(i -> i.where().map(w -> places.add(w.address())).orElse(false))
            .limit(MOST_EARLIER)
            .map(i -> asking(look, Optional.of(i)))
            .toList();
    int threads = Math.min(AT_ONCE, current.size() + earlier.size());
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      List<CompletableFuture<Found>> now = begun(current, pool);
      List<CompletableFuture<Found>> before = begun(earlier, pool);
      return Optional.of(
          new ShardsLook(
              map,
              now.stream().map(CompletableFuture::join).toList(),
              before.stream().map(CompletableFuture::join).filter(Found::answers).toList()));
    } finally {
      pool.shutdown();
    }
  }

  private static List<CompletableFuture<Found>> begun(
      List<Supplier<Found>> asked, ExecutorService pool) {
    return asked.stream().map(a -> CompletableFuture.supplyAsync(a, pool)).toList();
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
  List<Attention> attention() {
    var found = new ArrayList<Attention>();
    for (int i = 0; i < servers.size(); i++) {
      Found f = servers.get(i);
      String shard = (i + 1) + "/" + map.count();
      if (f.state() == State.NOT_STARTED) {
        found.add(
            server(
                "shard %s: %s, and nobody gets its leases: cinch serve --shard %s"
                    .formatted(shard, f.why(), shard)));
      } else if (f.needsAttention()) {
        found.add(server("shard %s: %s: %s".formatted(shard, f.inWords(), f.why())));
      }
      for (String other : f.others()) {
        found.add(server("shard %s: the lease server at %s".formatted(shard, other)));
      }
      for (String problem : f.timeProblems()) {
        String line = "shard %s: the lease server's time sources: %s".formatted(shard, problem);
        found.add(new Attention(Kind.CLOCK, null, line));
      }
    }
    for (Found f : earlier) {
      found.add(
          server(
              "the lease server at %s (instance %d) is of an earlier shard map and still answers: it ends when its leases are over"
                  .formatted(f.address(), f.instance())));
    }
    return found;
  }

  private static Attention server(String line) {
    return new Attention(Kind.SERVER, null, line);
  }
}
