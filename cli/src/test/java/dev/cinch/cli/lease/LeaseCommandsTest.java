package dev.cinch.cli.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Served;
import dev.cinch.cli.base.Converters;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.client.HttpLeaseClient;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.server.LeaseServer;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.witness.WitnessSigner;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Leases on the command line, against a real server. */
@SuppressWarnings("NullAway.Init")
class LeaseCommandsTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir Path temp;

  private Served served;
  private Cinch cinch;

  @BeforeEach
  void serve() throws Exception {
    served = new Served(temp);
    cinch = served.cinch;
  }

  @AfterEach
  void stop() throws Exception {
    served.close();
  }

  private JsonNode json(Cinch.Ran ran) throws Exception {
    return JSON.readTree(ran.ended(0).out());
  }

  @Test
  void messagesUnderLeasesCarryThemAndPassTheAudit() throws Exception {
    for (String name : List.of("one", "two", "three")) {
      String lines = (name + "\n").repeat(100);
      cinch.feed(lines, "append", "--log=jobs", "--lease=jobs/1", "--lease=jobs/2").ended(0);
    }
    cinch.settle("jobs");
    List<String> messages =
        cinch.run("cat", "--log=jobs", "--format=json").ended(0).out().lines().toList();
    assertEquals(300, messages.size());
    for (int i = 0; i < 300; i++) {
      JsonNode leases = JSON.readTree(messages.get(i)).get("leases");
      assertEquals(2, leases.size());
      assertEquals("jobs/2", leases.get(1).get("name").textValue());
      assertEquals(1 + i / 100, leases.get(1).get("generation").longValue());
      assertEquals(1, leases.get(1).get("instance").longValue());
      assertTrue(leases.get(1).get("correlation").textValue().matches("[0-9a-f]{32}"));
    }
    Cinch.Ran audited = cinch.run("audit").ended(0);
    assertTrue(audited.out().startsWith("exclusive: 300 messages"), audited.out());
    assertTrue(audited.out().contains(" 6 leases of 2 names, 4 handovers"), audited.out());
    assertEquals(
        "RELEASED", json(cinch.run("lease", "show", "--json", "jobs/1")).get("state").textValue());
  }

  @Test
  void aServiceThatIsAwayIsWaitedForWhereThatIsWanted() throws Exception {
    served.away(true);
    String[] append = {"append", "--log=jobs", "--lease=jobs/1"};
    cinch.feed("a\n", append).failed(4, "answered: ");
    cinch.run("lease", "acquire", "jobs/1").failed(4, "answered: ");
    String[] waiting = {"append", "--log=jobs", "--lease=jobs/1", "--wait=60s"};
    cinch.onNotice(() -> served.away(false));
    Cinch.Ran appended = cinch.feed("b\n", waiting).ended(0);
    assertEquals(1, appended.err().lines().count(), appended.err());
    assertTrue(appended.err().contains("; trying again"), appended.err());
    served.away(true);
    assertTrue(
        cinch.run("lease", "acquire", "--wait=60s", "jobs/1").ended(0).err().contains("again"));
    assertEquals("b\n", cinch.run("cat", "--log=jobs", "--live").ended(0).out());
  }

  @Test
  void namingALeaseServiceMakesNothingDueEarlier() throws Exception {
    cinch.feed("a\n", "append", "--log=jobs").ended(0);
    String inTwoHours =
        Converters.Moment.text(SystemTime.INSTANCE.wallNanos() + 7_200_000_000_000L);
    // Whatever anybody's clock says, the filesystem's does not reach there.
    cinch.run("close", "--log=jobs", "--through", inTwoHours).failed(3, "too early");
  }

  @Test
  void aHeldLeaseIsWaitedForAsLongAsAskedFor() throws Exception {
    cinch.feed("a\n", "append", "--log=jobs").ended(0);
    cinch.run("lease", "acquire", "--for=60s", "--holder=somebody", "held").ended(0);
    String[] held = {"held is held by \"somebody\"", "; waited 0.3 s"};
    for (String text : held) {
      cinch.run("lease", "acquire", "--wait=300ms", "held").failed(3, text);
      cinch.feed("b\n", "append", "--log=jobs", "--lease=held", "--wait=300ms").failed(3, text);
    }
    cinch.run("lease", "acquire", "held").failed(3, "held is held by \"somebody\"");
    cinch.run("lease", "acquire", "--for=1s", "soon").ended(0);
    cinch.run("lease", "acquire", "--for=1s", "--wait=60s", "soon").ended(0);
    cinch.feed("c\n", "append", "--log=jobs", "--lease=soon", "--wait=60s").ended(0);
    assertEquals("a\nc\n", cinch.run("cat", "--log=jobs", "--live").ended(0).out());
    cinch.run("lease", "acquire", "--wait=-1s", "x").failed(2, "--wait is not negative");
    cinch.run("append", "--log=jobs", "--lease=x", "--wait=-1s").failed(2, "not negative");
  }

  /** Stores that were made with one key trust each other's servers, which know nothing of it. */
  @Test
  void aServerOfAnotherStoreOfTheSameKeyIsRefused() throws Exception {
    Path other = Cinch.store(Files.createDirectory(temp.resolve("other")));
    var environment = Store.Environment.of(new MachineName("other"), SystemTime.INSTANCE);
    StoreContext opened = Store.open(other, environment).context();
    assertEquals(1, TrustedKeyFiles.add(opened, served.key));
    Cinch there = Cinch.on(other).with("CINCH_SERVER", served.uri());
    String another = "the lease server serves another store than " + other;
    there.feed("a\n", "append", "--log=jobs", "--lease=x", "--lease-for=30s").failed(3, another);
    there.run("lease", "acquire", "--for=30s", "x").failed(3, another);
    there.run("lease", "run", "--for=30s", "x", "--", "true").failed(3, another);
    there.run("cat", "--log=jobs", "--lease=x", "--last-lease").failed(3, "serves no store");
    assertEquals("", there.run("cat", "--log=jobs", "--live").ended(0).out());
    assertEquals(
        "RELEASED", json(cinch.run("lease", "show", "--json", "x")).get("state").textValue());
    cinch.feed("a\n", "append", "--log=jobs", "--lease=x", "--lease-for=30s").ended(0);

    // One that serves none is as good as none before it; once the store has had one it is not.
    var service =
        ServiceInstance.builder(new WitnessSigner(served.key), SystemTime.INSTANCE)
            .fresh(true)
            .start();
    try (var alone = LeaseServer.builder(service, service::info).port(0).start()) {
      Cinch bare = Cinch.on(other).with("CINCH_SERVER", alone.uri().toString());
      bare.feed("a\n", "append", "--log=jobs", "--lease=x", "--lease-for=30s").ended(0);
      assertEquals(1, new StoreInstances(opened, served.key).takeNumber());
      bare.feed("b\n", "append", "--log=jobs", "--lease=x", "--lease-for=30s")
          .failed(3, "serves no store");
    }
  }

  /** A server's pages end by their bytes too, so that a short one need not be the last. */
  @Test
  void aListingGoesOnAfterAShortPage() throws Exception {
    var logs = LogSet.of(LongStream.range(0, 1_000).mapToObj(l -> new Id(1, l)).toList());
    HttpLeaseClient client = HttpLeaseClient.builder(URI.create(served.uri())).build();
    for (int i = 0; i < 4; i++) {
      int from = 10 * i;
      List<LeaseName> names =
          IntStream.range(from, from + 10).mapToObj(n -> new LeaseName("x/" + n)).toList();
      var request = new Operation.Acquire(new Id(2, i), names, "h", 1_000, logs, false);
      assertEquals(10, client.acquire(request).witnesses().size());
    }
    assertTrue(client.list("x/", Optional.empty(), 1_000).size() < 40);
    String all = cinch.run("lease", "list", "--json", "--prefix=x/").ended(0).out();
    assertEquals(40, all.lines().count());
    String table = cinch.run("lease", "list", "--prefix=x/").ended(0).out();
    assertEquals(41, table.lines().count()); // one head, however many pages
  }

  @Test
  void durationsAndNumbersOfNamesOutOfRange() {
    String missing = "Missing required option: '--server=URL' (or set CINCH_SERVER)";
    new Cinch().run("lease", "run", "x", "--", "true").failed(2, missing);
    String help = new Cinch().run("help", "lease", "list").out();
    assertTrue(help.contains("[--server=URL]"), help); // a cell may stand in its place
    var many = new ArrayList<>(List.of("lease", "acquire"));
    var append = new ArrayList<>(List.of("append", "--log=jobs"));
    for (int i = 0; i < 10_000; i++) {
      many.add("n/" + i);
      append.add("--lease=n/" + i);
    }
    cinch.run(many.toArray(String[]::new)).failed(3, "1000");
    cinch.feed("a\n", append.toArray(String[]::new)).failed(3, "1000");
    assertEquals("", cinch.run("lease", "list").ended(0).out());
    assertEquals("", cinch.run("cat", "--log=jobs", "--live").ended(0).out());
  }
}
