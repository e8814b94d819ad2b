package dev.cinch.cli.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.cli.SharedStore;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.client.ShardRouter;
import dev.cinch.lease.hold.HeldLease;
import dev.cinch.lease.hold.HoldSettings;
import dev.cinch.lease.server.LeaseServer;
import dev.cinch.lease.time.SystemTime;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code --wait} for leases that another server has than the one that was named (rule L16). */
@Timeout(600)
class ShardsWaitTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final long LEASE_MS = 60_000;

  @TempDir Path temp;

  private static HeldLease hold(LeaseServer any, LeaseName name) throws Exception {
    var random = new SecureRandom();
    return HeldLease.acquire(
        ShardRouter.of(any.uri()),
        SystemTime.INSTANCE,
        HoldSettings.of(LEASE_MS),
        new Operation.Acquire(
            Id.random(random), List.of(name), "holder", LEASE_MS, LogSet.ALL, false),
        () -> LeaseReport.NOTHING,
        (lease, why) -> {},
        random);
  }

  private static Forked waiting(LeaseServer any, String command, String... more) throws Exception {
    var args = new ArrayList<>(List.of(command.split(" ")));
    args.addAll(List.of("--wait=1h", "--server=" + any.uri()));
    args.addAll(List.of(more));
    String[] words = args.toArray(String[]::new);
    return args.contains("run") ? new Forked(words) : Forked.here(words);
  }

  private static long instance(Forked acquire) throws Exception {
    JsonNode grant = JSON.readTree(acquire.line());
    return grant.get("witnesses").get(0).get("witness").get("instance").longValue();
  }

  @Test
  void aLeaseThatIsHeldIsWaitedForWhereItIs() throws Exception {
    try (var shared = new SharedStore(temp)) {
      shared.set(2);
      List<LeaseServer> servers = shared.serveAll();
      LeaseServer any = servers.get(0);
      LeaseName name = shared.name(2, 1);

      HeldLease held = hold(any, name);
      try (Forked acquire = waiting(any, "lease acquire", name.toString())) {
        shared.awaitRefused(servers.get(1), Reason.HELD);
        held.release(LeaseReport.NOTHING);
        assertEquals(2, instance(acquire));
        acquire.ended(0);
      }

      name = shared.name(2, 2);
      held = hold(any, name);
      try (Forked run = waiting(any, "lease run", name.toString(), "--", "echo", "it runs")) {
        shared.awaitRefused(servers.get(1), Reason.HELD);
        held.release(LeaseReport.NOTHING);
        assertEquals("it runs", run.line());
        run.ended(0);
      }

      name = shared.name(2, 3);
      held = hold(any, name);
      String[] where = {"--store=" + shared.path, "--log=jobs", "--create", "--lease=" + name};
      try (Forked append = waiting(any, "append --json", where)) {
        append.type("a line\n");
        append.endInput();
        shared.awaitRefused(servers.get(1), Reason.HELD);
        held.release(LeaseReport.NOTHING);
        assertEquals("COMMITTED", JSON.readTree(append.line()).get("state").textValue());
        append.ended(0);
      }
    }
  }

  @Test
  void whatIsHeldForLongerIsRefused() throws Exception {
    try (var shared = new SharedStore(temp)) {
      shared.set(2);
      LeaseServer any = shared.serveAll().get(0);
      LeaseName name = shared.name(2, 1);
      HeldLease held = hold(any, name);
      Cinch cinch = shared.cinch.with("CINCH_SERVER", any.uri().toString());
      String[] text = {name + " is held by \"holder\"", "; waited 0.3 s"};
      for (String part : text) {
        cinch.run("lease", "acquire", "--wait=300ms", name.toString()).failed(3, part);
        cinch
            .feed("b\n", "append", "--log=jobs", "--lease=" + name, "--wait=300ms")
            .failed(3, part);
      }
      held.release(LeaseReport.NOTHING);
    }
  }

  @Test
  void aServerThatHasNotStartedIsWaitedFor() throws Exception {
    try (var shared = new SharedStore(temp)) {
      shared.set(2);
      LeaseServer any = shared.serve(1);
      LeaseName name = shared.name(2, 1);
      try (Forked acquire = waiting(any, "lease acquire", name.toString())) {
        shared.awaitRefused(any, Reason.OTHER_SHARD);
        shared.serve(2);
        assertEquals(2, instance(acquire));
        acquire.ended(0);
      }
    }
  }

  /** Who waits when the map changes waits on where the name is then. */
  @Test
  void whoWaitsFollowsTheMap() throws Exception {
    try (var shared = new SharedStore(temp)) {
      shared.set(2);
      List<LeaseServer> two = shared.serveAll();
      LeaseServer any = two.get(0);
      LeaseName name = shared.name(2, 1);
      HeldLease held = hold(any, name);
      try (Forked acquire = waiting(any, "lease acquire", name.toString())) {
        shared.awaitRefused(two.get(1), Reason.HELD);
        shared.set(1);
        LeaseServer one = shared.serve(1);
        shared.awaitSuperseded(two.get(1));
        var unused = held.renew(LogSet.NONE);
        assertEquals(3, held.witnesses().get(0).witness().instance());
        shared.awaitRefused(one, Reason.HELD);
        held.release(LeaseReport.NOTHING);
        assertEquals(3, instance(acquire));
        acquire.ended(0);
      }
    }
  }
}
