package dev.cinch.cli.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.SharedStore;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.client.ShardRouter;
import dev.cinch.lease.server.LeaseServer;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What {@code status} says of the lease servers that share a store (rule L16). */
@Timeout(600)
class ShardStatusTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir Path temp;

  private static JsonNode status(Cinch cinch, int code, String... more) throws Exception {
    var words = new ArrayList<>(List.of("status", "--json"));
    words.addAll(List.of(more));
    return JSON.readTree(cinch.run(words.toArray(String[]::new)).ended(code).out());
  }

  private static List<String> attention(JsonNode status) {
    var found = new ArrayList<String>();
    for (JsonNode a : status.get("attention")) {
      assertEquals("SERVER", a.get("kind").textValue());
      found.add(a.get("message").textValue());
    }
    return found;
  }

  private static List<String> states(JsonNode status) {
    return status.get("shards").get("servers").findValuesAsText("state");
  }

  @Test
  void withoutAMapThereIsOneServer() throws Exception {
    try (var shared = new SharedStore(temp)) {
      shared.serve(1);
      JsonNode status = status(shared.cinch, 0);
      assertFalse(status.has("shards"));
      assertEquals("GRANTING", status.get("server").get("state").textValue());
      assertFalse(shared.cinch.run("status").ended(0).out().contains("hard"));
    }
  }

  @Test
  void eachShardOfTheMapNeedsAServerThatAnswers() throws Exception {
    try (var shared = new SharedStore(temp)) {
      shared.cinch.run("shards", "set", "2", shared.key()).ended(0);
      JsonNode none = status(shared.cinch, 3);
      assertEquals(
          List.of(
              "shard 1/2: no server has started, and nobody gets its leases: cinch serve --shard 1/2",
              "shard 2/2: no server has started, and nobody gets its leases: cinch serve --shard 2/2"),
          attention(none));
      assertEquals(List.of("NOT_STARTED", "NOT_STARTED"), states(none));
      assertFalse(status(shared.cinch, 0, "--no-server").has("shards"));

      List<LeaseServer> servers = shared.serveAll();
      Grant grant =
          ShardRouter.of(servers.get(0).uri())
              .acquire(
                  new Operation.Acquire(
                      Id.random(new SecureRandom()),
                      List.of(shared.name(2, 1)),
                      "test",
                      30_000,
                      LogSet.ALL,
                      false));
      JsonNode good = status(shared.cinch, 0);
      assertFalse(good.has("server"));
      assertEquals(2, good.get("shards").get("shards").intValue());
      assertEquals(1, good.get("shards").get("map").intValue());
      assertEquals(0, good.get("shards").get("earlier").size());
      for (int i = 0; i < 2; i++) {
        JsonNode one = good.get("shards").get("servers").get(i);
        assertEquals(i + 1, one.get("shard").intValue());
        assertEquals(i + 1, one.get("instance").intValue());
        assertEquals(servers.get(i).uri().toString(), one.get("address").textValue());
        assertEquals("GRANTING", one.get("state").textValue());
      }
      assertFalse(good.get("shards").get("servers").get(0).has("ceiling"), "it granted nothing");
      long ceiling = good.get("shards").get("servers").get(1).get("ceilingNanos").asLong();
      assertTrue(ceiling >= grant.witnesses().get(0).witness().expiry());
      String text = shared.cinch.run("status").ended(0).out();
      assertTrue(text.contains("\nleases  shard map 1 of 2 shards\n  SHARD  INSTANCE  "), text);
      String first = "  1/2    1         " + servers.get(0).uri() + "  -        grants\n";
      assertTrue(text.contains(first), text);
      assertTrue(text.contains("  2/2    2         " + servers.get(1).uri() + "  in "), text);
      JsonNode named = status(shared.cinch, 0, "--server=" + servers.get(1).uri());
      assertEquals(2, named.get("server").get("instance").intValue());
      assertEquals(List.of("GRANTING", "GRANTING"), states(named));

      servers.get(1).close();
      JsonNode silent = status(shared.cinch, 3);
      assertEquals(List.of("GRANTING", "SILENT"), states(silent));
      String start = "shard 2/2: the lease server at " + servers.get(1).uri() + ": ";
      assertEquals(1, attention(silent).size());
      assertTrue(attention(silent).get(0).startsWith(start), attention(silent).get(0));
    }
  }

  @Test
  void aServerThatAnswersWhereAnotherWasIsNotThatOne() throws Exception {
    try (var shared = new SharedStore(temp)) {
      shared.cinch.run("shards", "set", "2", shared.key()).ended(0);
      String uri = shared.serve(1).uri().toString();
      shared.claim(2, uri);
      JsonNode status = status(shared.cinch, 3);
      assertEquals(List.of("GRANTING", "SILENT"), states(status));
      assertEquals(
          List.of(
              "shard 2/2: the lease server at "
                  + uri
                  + ": has ended, and instance 1 answers in its place"),
          attention(status));
    }
  }

  @Test
  void serversOfEarlierMapsAreToldAsLongAsTheyAnswer() throws Exception {
    try (var shared = new SharedStore(temp)) {
      LeaseServer first = shared.serve(1);
      shared.cinch.run("shards", "set", "2", shared.key()).ended(0);
      List<LeaseServer> two = shared.serveAll();
      shared.cinch.run("shards", "set", "1", shared.key()).ended(0);
      shared.serve(1);
      JsonNode all = status(shared.cinch, 3);
      assertEquals(List.of("GRANTING"), states(all));
      List<LeaseServer> expected = List.of(two.get(1), two.get(0), first);
      for (int i = 0; i < 3; i++) {
        String uri = expected.get(i).uri().toString();
        assertEquals(uri, all.get("shards").get("earlier").get(i).get("address").textValue());
        assertEquals(
            "the lease server at %s (instance %d) is of an earlier shard map and still answers: it ends when its leases are over"
                .formatted(uri, 3 - i),
            attention(all).get(i));
      }
      two.get(0).close();
      first.close();
      JsonNode left = status(shared.cinch, 3);
      assertEquals(1, left.get("shards").get("earlier").size());
      two.get(1).close();
      assertEquals(0, status(shared.cinch, 0).get("shards").get("earlier").size());
    }
  }
}
