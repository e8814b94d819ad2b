package dev.cinch.cli.read;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.cinch.bag.Store;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.cli.SharedStore;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.Shard;
import dev.cinch.lease.ShardMap;
import dev.cinch.lease.server.LeaseServer;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.witness.SigningKey;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code cat --last-lease} where several servers share the store (rules L7, L16). */
@Timeout(600)
class CatLeaseShardsTest {
  private static final ShardMap TWO = new ShardMap(1, 2);

  @TempDir Path temp;

  private static String name(int shard) {
    for (int i = 0; ; i++) {
      if (TWO.shardOf(new LeaseName("jobs/" + i)) == shard) {
        return "jobs/" + i;
      }
    }
  }

  private static Cinch.Ran last(Cinch cinch, String name) {
    return cinch.run("cat", "--log=jobs", "--lease=" + name, "--last-lease", "--live");
  }

  /** Has an instance of a shard in the store that took over, as far as anybody can see. */
  private static void takeOver(Path store, SigningKey key, long number, int shard)
      throws Exception {
    var environment = Store.Environment.of(new MachineName("here"), SystemTime.INSTANCE);
    StoreContext context = Store.open(store, environment).context();
    var instance = new StoreInstances(context, Optional.empty(), new Shard(TWO, shard), key);
    assertEquals(number, instance.takeNumber());
  }

  @Test
  void l7_theLatestInstanceOfTheNamesShardSaysWhichIsTheLast() throws Exception {
    Path store = Cinch.quickStore(temp);
    try (Forked one = Forked.serveHere(temp, store, "--shard=1/2");
        Forked two = Forked.serveHere(temp, store, "--shard=2/2")) {
      String first = one.listening();
      String unused = two.listening();
      Cinch.on(store).run("shards", "set", "2", "--key=" + temp.resolve("served.key")).ended(0);
      SharedStore.awaitServers(store, 2);
      Cinch cinch = Cinch.on(store).with("CINCH_SERVER", first);
      for (int shard = 1; shard <= 2; shard++) {
        String lease = "--lease=" + name(shard);
        cinch.feed("a" + shard + "\n", "append", "--log=jobs", lease, "--wait=10m").ended(0);
        cinch.settle("jobs");
        cinch.appendBehind("b" + shard + "\n", "append", "--log=jobs", lease);
      }
      for (int shard = 1; shard <= 2; shard++) {
        assertEquals("b" + shard + "\n", last(cinch, name(shard)).ended(0).out());
      }
      last(cinch, "none").failed(3, "knows no lease on none; without --last-lease all");

      // Another server of shard 1 may have granted its names since, and has none of shard 2.
      takeOver(store, SigningKey.load(temp.resolve("served.key")), 3, 1);
      last(cinch, name(1)).failed(3, "knows no lease on " + name(1));
      assertEquals("b2\n", last(cinch, name(2)).ended(0).out());
      String all = cinch.run("cat", "--log=jobs", "--lease=" + name(1), "--live").ended(0).out();
      assertEquals("a1\nb1\n", all);

      // So may those of a later map, whatever their numbers.
      Cinch.on(store).run("shards", "set", "1", "--key=" + temp.resolve("served.key")).ended(0);
      last(cinch, name(2)).failed(3, "knows no lease on " + name(2));
    }
  }

  /** At the address of a shard's server another one may be by now, of the same number. */
  @Test
  void l7_aServerOfAnotherStoreSaysNothing() throws Exception {
    try (var shared = new SharedStore(Files.createDirectory(temp.resolve("here")));
        var other = new SharedStore(Files.createDirectory(temp.resolve("there")))) {
      shared.set(2);
      other.set(2);
      LeaseServer first = shared.serve(1);
      LeaseServer there = other.serveAll().get(1);
      assertEquals(2, shared.claim(2, there.uri().toString()));
      Cinch elsewhere = other.cinch.with("CINCH_SERVER", there.uri().toString());
      elsewhere.feed("x\n", "append", "--log=jobs", "--lease=" + name(2)).ended(0);
      assertEquals("x\n", last(elsewhere, name(2)).ended(0).out());
      shared.cinch.run("log", "create", "jobs").ended(0);
      Cinch here = shared.cinch.with("CINCH_SERVER", first.uri().toString());
      last(here, name(2)).failed(3, "serves another store");
    }
  }
}
