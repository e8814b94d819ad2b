package dev.cinch.cli.serve;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.bag.model.Name;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import dev.cinch.cli.JsonSchema;
import dev.cinch.cli.status.StatusSource;
import dev.cinch.lease.client.Credentials;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a lease server tells of its store is what {@code cinch status} prints. */
@Timeout(600)
final class StoreTellingTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir private Path temp;

  private static ObjectNode told(String address) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(address + "/v1/store")).build();
    var ofText = HttpResponse.BodyHandlers.ofString();
    HttpResponse<String> answer = HttpClient.newHttpClient().send(request, ofText);
    while (answer.statusCode() == 503) { // not yet
      answer = HttpClient.newHttpClient().send(request, ofText);
    }
    assertEquals(200, answer.statusCode(), answer.body());
    return (ObjectNode) JSON.readTree(answer.body());
  }

  @Test
  void itSaysWhatStatusPrints() throws Exception {
    Path store = Cinch.store(temp);
    Cinch cinch = Cinch.on(store);
    cinch.feed("a\nb\n", "append", "--log=jobs", "--create").ended(0);
    cinch.run("log", "create", "empty").ended(0);
    try (Forked server = Forked.serveHere(temp, store)) {
      ObjectNode told = told(server.listening());
      assertTrue(told.remove("ageMs").isIntegralNumber());
      var schema = new JsonSchema(Path.of("../docs/cinch.schema.json"));
      assertEquals(List.of(), schema.wrong("cinch status", told));
      assertEquals("GRANTING", told.at("/server/state").textValue());
      assertEquals(0, told.get("attention").size(), told::toString);
      JsonNode printed = JSON.readTree(cinch.run("status", "--json").ended(0).out());
      assertEquals(printed.get("logs"), told.get("logs"));
      assertEquals(printed.get("store"), told.get("store"));
    }
  }

  /** Its own certificate's authority is not known to it: that it can't ask itself alarms nobody. */
  @Test
  void aServerThatKnowsNoAuthorityAsksNoServers() throws Exception {
    Path store = Cinch.store(temp);
    var nobody = new Credentials(Optional.empty(), Optional.empty());
    try (Forked server = Forked.serveHere(temp, store)) {
      assertTrue(server.listening().startsWith("http"));
      for (boolean asks : List.of(true, false)) {
        JsonNode told =
            JSON.readTree(
                new StatusSource(Name.of(store), SystemTime.INSTANCE, nobody, asks).call());
        assertEquals(asks, told.has("server"));
        assertEquals(0, told.get("attention").size());
      }
    }
  }

  @Test
  void aStoreThatIsGoneIsToldInOneLine() throws Exception {
    Path store = Cinch.store(temp);
    var nobody = new Credentials(Optional.empty(), Optional.empty());
    var source = new StatusSource(Name.of(store), SystemTime.INSTANCE, nobody, false);
    var unused = source.call();
    Files.delete(store.resolve("store.json"));
    var gone = new StatusSource(Name.of(store), SystemTime.INSTANCE, nobody, false);
    IOException e = Assertions.assertThrows(IOException.class, gone::call);
    assertTrue(("" + e.getMessage()).contains("is not a Cinch store"), e::getMessage);
  }
}
