package dev.cinch.cli.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.cli.Forked;
import dev.cinch.cli.SharedStore;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.client.ShardRouter;
import dev.cinch.lease.server.LeaseServer;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.List;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code lease watch} tells of the leases of all servers that share a store (rule L16). */
@Timeout(600)
class ShardsWatchTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final SecureRandom RANDOM = new SecureRandom();

  @TempDir Path temp;

  private static Grant acquire(ShardRouter router, LeaseName name) throws Exception {
    return router.acquire(
        new Operation.Acquire(Id.random(RANDOM), List.of(name), "test", 60_000, LogSet.ALL, false));
  }

  private static void release(ShardRouter router, Grant grant) throws Exception {
    long instance = grant.witnesses().get(0).witness().instance();
    router.release(grant.id(), LeaseReport.NOTHING.to(instance));
  }

  private static String event(Forked watch) throws Exception {
    JsonNode event = JSON.readTree(watch.line());
    JsonNode lease = event.get("lease");
    String what = event.get("event").textValue();
    return lease == null ? what : what + " " + lease.get("witness").get("name").textValue();
  }

  /** What is told first. */
  private static TreeSet<String> first(Forked watch, int events) throws Exception {
    var told = new TreeSet<String>();
    for (int i = 0; i < events; i++) {
      String event = event(watch);
      assertTrue(told.add(event), "told twice: " + event);
    }
    return told;
  }

  @Test
  void whatBecomesOfTheLeasesOfAllIsTold() throws Exception {
    try (var shared = new SharedStore(temp)) {
      shared.set(3);
      LeaseServer any = shared.serveAll().get(1);
      ShardRouter router = ShardRouter.of(any.uri());
      LeaseName one = shared.name(1, 1);
      LeaseName two = shared.name(2, 2);
      LeaseName three = shared.name(3, 3);
      Grant first = acquire(router, one);
      Grant last = acquire(router, three);
      String server = "--server=" + any.uri();
      try (Forked all = Forked.endless("lease", "watch", "--json", server);
          Forked some = Forked.endless("lease", "watch", "--json", server, two + "", three + "");
          Forked text = Forked.endless("lease", "watch", server)) {
        assertEquals(
            new TreeSet<>(List.of("held " + one, "held " + three, "synced")), first(all, 3));
        assertEquals(new TreeSet<>(List.of("held " + three, "synced")), first(some, 2));
        assertEquals(
            new TreeSet<>(List.of(one + " held by test", three + " held by test")),
            new TreeSet<>(List.of(text.line(), text.line())));
        release(router, first);
        assertEquals("released " + one, event(all));
        assertEquals(one + " released by test", text.line());
        Grant middle = acquire(router, two);
        assertEquals("granted " + two, event(all));
        assertEquals("granted " + two, event(some));
        release(router, last);
        assertEquals("released " + three, event(all));
        assertEquals("released " + three, event(some));
        release(router, middle);
        assertEquals("released " + two, event(all));
        assertEquals("released " + two, event(some));
      }
    }
  }

  /** What would come after that would be all but its leases, and look like all. */
  @Test
  void itEndsWhenOneOfThemEnds() throws Exception {
    try (var shared = new SharedStore(temp)) {
      shared.set(2);
      List<LeaseServer> servers = shared.serveAll();
      for (int ends = 1; ends >= 0; ends--) {
        String uri = servers.get(1 - ends).uri().toString();
        // With both of them, and then with the one that has ended.
        boolean both = ends == 1;
        try (Forked watch = Forked.endless("lease", "watch", "--json", "--server=" + uri)) {
          if (both) {
            assertEquals("synced", event(watch));
            servers.get(1).close();
          }
          assertEquals(1, watch.err().lines().count());
          watch.ended(4);
        }
      }
    }
  }
}
