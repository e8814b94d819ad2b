package dev.cinch.cli.serve;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.ArchivedClasses;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.cli.SharedStore;
import dev.cinch.cli.base.MachineNames;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.Witness;
import dev.cinch.lease.client.ShardRouter;
import dev.cinch.lease.hold.HeldLease;
import dev.cinch.lease.hold.HoldSettings;
import dev.cinch.lease.server.LeaseServer;
import dev.cinch.lease.time.SystemTime;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Several lease servers that share a store, and clients that know one of them (rule L16). */
@Timeout(120)
class ShardsTest {
  private static final long LEASE_MS = 30_000;
  private static final SecureRandom RANDOM = new SecureRandom();

  @TempDir Path temp;

  private static Operation.Acquire request(LeaseName... names) {
    return new Operation.Acquire(
        Id.random(RANDOM), List.of(names), "test", LEASE_MS, LogSet.ALL, false);
  }

  private static HeldLease hold(ShardRouter router, LeaseName... names) throws Exception {
    return HeldLease.acquire(
        router,
        SystemTime.INSTANCE,
        HoldSettings.of(LEASE_MS),
        request(names),
        () -> LeaseReport.NOTHING,
        (lease, why) -> {},
        RANDOM);
  }

  private static Witness witness(Grant grant) {
    return grant.witnesses().get(0).witness();
  }

  private static Grant granted(Outcome outcome) {
    return assertInstanceOf(Outcome.Granted.class, outcome).grant();
  }

  @Test
  void eachNameIsAskedForWhereItIs() throws Exception {
    try (var shared = new SharedStore(temp)) {
      shared.cinch.run("shards", "set", "3", shared.key()).ended(0);
      LeaseServer any = shared.serveAll().get(1);
      ShardRouter router = ShardRouter.of(any.uri());
      var instances = new HashSet<Long>();
      for (int shard = 1; shard <= 3; shard++) {
        Grant grant = router.acquire(request(shared.name(shard, shard)));
        instances.add(witness(grant).instance());
        LeaseReport told = LeaseReport.NOTHING.to(witness(grant).instance());
        Grant renewed = router.renew(grant.id(), LEASE_MS, LogSet.NONE, told);
        assertEquals(witness(grant).correlation(), witness(renewed).correlation());
        // Of a grant whose id is all that is known, every server is asked.
        renewed = ShardRouter.of(any.uri()).renew(grant.id(), LEASE_MS, LogSet.NONE, told);
        assertEquals(
            Optional.of(witness(renewed)),
            ShardRouter.of(any.uri()).show(witness(grant).name()).map(i -> i.witness()));
      }
      assertEquals(3, instances.size());
      var names = new ArrayList<LeaseName>();
      Optional<LeaseName> after = Optional.empty();
      for (var page = router.list("n", after, 2); !page.isEmpty(); ) {
        page.forEach(info -> names.add(info.witness().name()));
        after = Optional.of(names.get(names.size() - 1));
        page = router.list("n", after, 2);
      }
      assertEquals(List.of(shared.name(1, 1), shared.name(2, 2), shared.name(3, 3)), names);
    }
  }

  @Test
  void aBatchIsCarriedOutByAll() throws Exception {
    try (var shared = new SharedStore(temp)) {
      shared.cinch.run("shards", "set", "2", shared.key()).ended(0);
      ShardRouter router = ShardRouter.of(shared.serveAll().get(0).uri());
      for (int round = 0; round < 2; round++) { // the first time it does not know where they are
        var operations = new ArrayList<Operation>();
        for (int i = 0; i < 10; i++) {
          operations.add(request(shared.name(1 + i % 2, 10 + 10 * round + i)));
        }
        List<Outcome> outcomes = router.carryOut(operations);
        var ends = new ArrayList<Operation>();
        for (int i = 0; i < 10; i++) {
          assertEquals(((Operation.Secret) operations.get(i)).id(), granted(outcomes.get(i)).id());
          long instance = witness(granted(outcomes.get(i))).instance();
          ends.add(
              new Operation.Release(
                  ((Operation.Secret) operations.get(i)).id(),
                  round == 0 ? LeaseReport.NOTHING : LeaseReport.NOTHING.to(instance)));
        }
        for (Outcome end : router.carryOut(ends)) {
          assertEquals(Outcome.RELEASED, end);
        }
      }
    }
  }

  @Test
  void namesOfSeveralShardsAreRefusedTogether() throws Exception {
    try (var shared = new SharedStore(temp)) {
      shared.cinch.run("shards", "set", "2", shared.key()).ended(0);
      ShardRouter router = ShardRouter.of(shared.serveAll().get(0).uri());
      LeaseRefusedException e =
          assertThrows(
              LeaseRefusedException.class,
              () -> {
                Grant unused = router.acquire(request(shared.name(1, 1), shared.name(2, 2)));
              });
      assertEquals(Reason.INVALID, e.reason());
      String why = String.valueOf(e.getMessage());
      assertTrue(why.endsWith("; ask for each in a request of its own"), why);
    }
  }

  @Test
  void commandsRefuseNamesOfSeveralShardsInALineAndMayBeNested() throws Exception {
    try (var shared = new SharedStore(temp)) {
      shared.cinch.run("shards", "set", "2", shared.key()).ended(0);
      String uri = shared.serveAll().get(0).uri().toString();
      String a = shared.name(1, 1).toString();
      String b = shared.name(2, 2).toString();
      String why =
          "%s and %s are in shards 1 and 2 of shard map 1 of 2 shards; ask for each in a request of its own"
              .formatted(a, b);
      Cinch cinch = shared.cinch.with("CINCH_SERVER", uri);
      cinch.run("log", "create", "jobs").ended(0);
      cinch.run("lease", "acquire", a, b).failed(3, why);
      cinch.run("lease", "run", a, b, "--", "true").failed(3, why);
      cinch.feed("x\n", "append", "--log=jobs", "--lease=" + a, "--lease=" + b).failed(3, why);
      String cinchItself = ArchivedClasses.launcher().toString();
      String server = "--server=" + uri;
      String[] nested = {
        "lease",
        "run",
        server,
        a,
        "--",
        cinchItself,
        "lease",
        "run",
        server,
        b,
        "--",
        cinchItself,
        "lease",
        "list",
        server
      };
      try (Forked run = new Forked(nested)) {
        assertEquals("LEASE", run.line().substring(0, 5));
        assertTrue(run.line().startsWith(a + " "));
        assertTrue(run.line().startsWith(b + " "));
        run.ended(0);
      }
    }
  }

  /** They are held together, and no server has both. */
  @Test
  void leasesOfOneRequestThatTheMapPartsAreNotResumed() throws Exception {
    try (var shared = new SharedStore(temp)) {
      shared.cinch.run("shards", "set", "2", shared.key()).ended(0);
      LeaseName one = shared.name(1, 1);
      LeaseName two = shared.name(2, 2);
      shared.cinch.run("shards", "set", "1", shared.key()).ended(0);
      LeaseServer before = shared.serve(1);
      HeldLease held = hold(ShardRouter.of(before.uri()), one, two);
      shared.cinch.run("shards", "set", "2", shared.key()).ended(0);
      assertEquals(2, shared.serveAll().size());
      shared.awaitSuperseded(before);
      LeaseRefusedException e =
          assertThrows(
              LeaseRefusedException.class,
              () -> {
                Grant unused = held.renew(LogSet.NONE);
              });
      assertEquals(Reason.INVALID, e.reason());
      assertTrue(String.valueOf(e.getMessage()).contains("are in shards 1 and 2"), e.getMessage());
    }
  }

  @Test
  void holdersGoOnWhenTheMapChanges() throws Exception {
    try (var shared = new SharedStore(temp)) {
      List<LeaseServer> before = List.of(shared.serve(1));
      ShardRouter router = ShardRouter.of(before.get(0).uri());
      var held = new ArrayList<HeldLease>();
      for (int i = 0; i < 30; i++) {
        held.add(hold(router, new LeaseName("held-" + i)));
      }
      for (int count : new int[] {2, 4, 1}) {
        shared.cinch.run("shards", "set", "" + count, shared.key()).ended(0);
        List<LeaseServer> next = shared.serveAll();
        assertEquals(count, next.size());
        for (LeaseServer server : before) { // until then it goes on
          shared.awaitSuperseded(server);
        }
        before = next;
        var instances = new HashSet<Long>();
        for (HeldLease lease : held) {
          Id correlation = witness(lease.grant()).correlation();
          Grant renewed = lease.renew(LogSet.NONE);
          assertEquals(correlation, witness(renewed).correlation());
          instances.add(witness(renewed).instance());
        }
        assertEquals(count, instances.size());
      }
      for (HeldLease lease : held) {
        lease.release(LeaseReport.NOTHING);
      }
    }
  }

  @Test
  void aServerThatIsNotThereIsWaitedFor() throws Exception {
    try (var shared = new SharedStore(temp)) {
      shared.cinch.run("shards", "set", "2", shared.key()).ended(0);
      ShardRouter router = ShardRouter.of(shared.serve(1).uri());
      LeaseName name = shared.name(2, 1);
      LeaseRefusedException e =
          assertThrows(
              LeaseRefusedException.class,
              () -> {
                Grant unused = router.acquire(request(name));
              });
      assertEquals(Reason.NOT_YET, e.reason());
      assertEquals(
          "no server has started for shard 2 of shard map 1 of 2 shards, which has " + name,
          e.getMessage());
      shared.serve(2);
      Grant grant = ShardRouter.of(shared.serve(1).uri()).acquire(request(name));
      assertEquals(OptionalLong.of(2), OptionalLong.of(witness(grant).instance()));
    }
  }

  @Test
  void theMapIsPrinted() throws Exception {
    try (var shared = new SharedStore(temp)) {
      shared.cinch.run("shards", "set", "2", shared.key()).ended(0);
      String uri = shared.serve(2).uri().toString();
      String machine = MachineNames.ofHost().value();
      String wide = " ".repeat(Math.max(0, machine.length() - "MACHINE".length()));
      String padded = "%-7s".formatted(machine);
      assertEquals(
          """
          shard map 1 of 2 shards
          SHARD  INSTANCE  MACHINE%s  ADDRESS
          1/2    -         -%s        not started yet
          2/2    1         %s  %s
          """
              .formatted(wide, wide, padded, uri),
          shared.cinch.run("shards").ended(0).out());
      assertEquals(
          "{\"map\":1,\"shards\":2,\"servers\":[{\"shard\":2,\"instance\":1,\"address\":\""
              + uri
              + "\",\"machine\":\""
              + machine
              + "\"}]}\n",
          shared.cinch.run("shards", "--json").ended(0).out());
    }
  }
}
