package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.bag.Store;
import dev.cinch.bag.layout.MachineName;
import dev.cinch.bag.store.StoreInstances;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.lease.http.LeaseServer;
import dev.cinch.lease.memory.MemoryLeaseService;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Leases on the command line, against a real server. */
@SuppressWarnings("NullAway.Init")
class LeaseCommandsTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir Path temp;

  private LeaseServer server;
  private Cinch cinch;

  @BeforeEach
  void serve() throws Exception {
    Path root = Cinch.quickStore(temp);
    Store store =
        Store.open(root, Store.Environment.of(new MachineName("server"), SystemTime.INSTANCE));
    SigningKey key = SigningKey.generate();
    long unused = TrustedKeyFiles.add(store.context(), key.publicKey());
    MemoryLeaseService service =
        MemoryLeaseService.builder(new WitnessSigner(key), SystemTime.INSTANCE)
            .registry(new StoreInstances(store.context()))
            .start();
    server = LeaseServer.builder(service, service::info).port(0).start();
    cinch = Cinch.on(root).with("CINCH_SERVER", server.uri().toString());
  }

  @AfterEach
  void stop() throws Exception {
    server.close();
  }

  private JsonNode json(Cinch.Ran ran) throws Exception {
    return JSON.readTree(ran.ended(0).out());
  }

  @Test
  void acquireRenewShowListRelease() throws Exception {
    cinch.feed("a\n", "append", "--log", "jobs").ended(0);
    JsonNode grant =
        json(cinch.run("lease", "acquire", "--for=10s", "--holder=me", "jobs/1", "jobs/2"));
    String id = grant.get("id").textValue();
    assertTrue(id.matches("[0-9a-f]{32}"), id);
    assertEquals(2, grant.get("witnesses").size());
    JsonNode witness = grant.get("witnesses").get(0);
    assertEquals("jobs/1", witness.get("name").textValue());
    assertEquals("me", witness.get("holder").textValue());
    assertEquals(1, witness.get("logs").size()); // those of the store
    assertFalse(witness.get("signed").textValue().isEmpty());

    cinch.run("lease", "acquire", "jobs/2", "jobs/3").failed(3, "jobs/2");
    assertEquals(1, cinch.run("lease", "list", "--prefix=jobs/2").ended(0).out().lines().count());
    assertEquals(2, cinch.run("lease", "list").ended(0).out().lines().count()); // jobs/3 was not
    assertEquals("held", json(cinch.run("lease", "show", "jobs/1")).get("state").textValue());

    JsonNode renewed = json(cinch.run("lease", "renew", id, "--for=20s"));
    assertTrue(renewed.get("expiry").longValue() > grant.get("expiry").longValue());
    assertEquals("", cinch.run("lease", "release", id).ended(0).out());
    cinch.run("lease", "release", id).ended(0);
    assertEquals("released", json(cinch.run("lease", "show", "jobs/1")).get("state").textValue());
    cinch.run("lease", "renew", id).failed(3, "");
    cinch.run("lease", "show", "other").failed(3, "knows nothing of other");
    cinch.run("lease", "acquire", "--for=90s", "x").failed(3, "60000 ms");
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
    assertEquals("released", json(cinch.run("lease", "show", "jobs/1")).get("state").textValue());
  }

  @Test
  void appendUnderALeaseThatAnotherHoldsWritesNothing() throws Exception {
    cinch.run("lease", "acquire", "--for=30s", "jobs/1").ended(0);
    cinch.feed("a\n", "append", "--log=jobs", "--lease=jobs/1").failed(3, "jobs/1");
    assertEquals("", cinch.run("cat", "--log=jobs", "--live").ended(0).out());
    cinch
        .feed("a\n", "append", "--log=jobs", "--lease=jobs/9", "--lease-for=10ms")
        .failed(2, "too short");
  }

  @Test
  void namingALeaseServiceMakesNothingDueEarlier() throws Exception {
    cinch.feed("a\n", "append", "--log=jobs").ended(0);
    String inTwoHours =
        Converters.Moment.text(SystemTime.INSTANCE.wallNanos() + 7_200_000_000_000L);
    // Whatever anybody's clock says, the filesystem's does not reach there.
    cinch.run("close", "--log=jobs", "--through", inTwoHours).failed(3, "too early");
  }
}
