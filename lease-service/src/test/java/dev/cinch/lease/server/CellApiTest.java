package dev.cinch.lease.server;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpServer;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.client.CellLook;
import dev.cinch.lease.client.Credentials;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.wire.JsonFields;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** {@code GET /v1/cell}. */
@Timeout(60)
final class CellApiTest {
  private static final HttpClient HTTP = HttpClient.newHttpClient();
  private static final Rig RIG = new Rig();

  private static LeaseServer.Builder builder() {
    return LeaseServer.builder(RIG.service, RIG.service::info).port(0);
  }

  private static Optional<ObjectNode> look(URI address) throws LeaseUnavailableException {
    return CellLook.ask(address, Credentials.NONE, Duration.ofSeconds(20));
  }

  private static void silent(URI address, String why) {
    LeaseUnavailableException e =
        assertThrows(LeaseUnavailableException.class, () -> look(address));
    assertTrue(String.valueOf(e.getMessage()).contains(why), e::getMessage);
  }

  private static String answered(LeaseServer server, String method, String path) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(server.uri() + path))
            .method(method, HttpRequest.BodyPublishers.noBody())
            .build();
    HttpResponse<String> r = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
    return r.statusCode() + " " + r.body();
  }

  @Test
  void aNodeTellsHowItIs() throws Exception {
    String text =
        "{\"node\":2,\"instance\":7,\"boot\":1,\"quarantined\":false,\"rows\":0,\"names\":0,"
            + "\"attempts\":0,\"faults\":0,\"peers\":[{\"node\":1}],\"traffic\":{\"datagramsSent\":1,"
            + "\"datagramsReceived\":1,\"dropped\":0,\"wrongKey\":0}}";
    ObjectNode document = JsonFields.parse(text.getBytes(UTF_8)).document();
    try (LeaseServer server = builder().cell(() -> Optional.of(document)).start()) {
      assertEquals("200 " + text, answered(server, "GET", "/v1/cell"));
      assertEquals(Optional.of(document), look(server.uri()));
      assertTrue(
          answered(server, "GET", "/v1/cell?a=b").startsWith("400 {\"error\":\"MALFORMED\""));
      assertTrue(answered(server, "POST", "/v1/cell").startsWith("405 {\"error\":\"METHOD\""));
    }
  }

  @Test
  void aNodeThatStartsIsNotThereYet() throws Exception {
    try (LeaseServer server = builder().cell(Optional::empty).start()) {
      assertEquals(
          "503 {\"error\":\"NOT_YET\",\"message\":\"the cell's node is starting, or does not answer\","
              + "\"retryAfterMs\":1000}",
          answered(server, "GET", "/v1/cell"));
      silent(server.uri(), "is starting");
    }
  }

  @Test
  void aServerThatIsNoNodeHasNoSuchPath() throws Exception {
    try (LeaseServer server = builder().start()) {
      assertTrue(answered(server, "GET", "/v1/cell").startsWith("404 {\"error\":\"NO_SUCH_PATH\""));
      assertTrue(answered(server, "POST", "/v1/cell").startsWith("404 "));
      assertEquals(Optional.empty(), look(server.uri()));
    }
  }

  @Test
  void whoeverIsNoServerOfTheApiIsToldApart() throws Exception {
    URI gone;
    try (LeaseServer server = builder().start()) {
      gone = server.uri();
    }
    silent(gone, "can't connect");
    HttpServer other = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
    other.createContext(
        "/",
        request -> {
          byte[] body = "[]".getBytes(UTF_8);
          request.sendResponseHeaders(200, body.length);
          request.getResponseBody().write(body);
          request.close();
        });
    other.start();
    try {
      URI address = URI.create("http://127.0.0.1:" + other.getAddress().getPort());
      assertEquals(Optional.empty(), look(address));
    } finally {
      other.stop(0);
    }
  }
}
