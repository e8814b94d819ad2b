package dev.cinch.cli.serve;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Forked;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What strangers may send to a running {@code serve}. */
@Timeout(600)
class HttpBodiesTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String ID = "0123456789abcdef0123456789abcdef";

  @TempDir Path temp;

  private final HttpClient http = HttpClient.newHttpClient();

  private void refused(String base, String body, int status, String error, String text)
      throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(base + "/v1/leases/acquire"))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
    HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
    assertEquals(status, response.statusCode(), response.body());
    JsonNode answer = JSON.readTree(response.body());
    assertEquals(error, answer.get("error").textValue());
    String message = answer.get("message").textValue();
    assertTrue(message.contains(text), message);
    assertEquals(1, message.lines().count());
    assertTrue(message.length() < 1_000, message);
  }

  private static String request(String more) {
    return "{\"id\":\"%s\",\"names\":[\"x\"],\"holder\":\"h\",\"durationMs\":1000,\"logs\":\"all\",\"tentative\":false%s}"
        .formatted(ID, more);
  }

  @Test
  void bodiesThatAreNoRequestsAreRefusedAndTheServiceGoesOn() throws Exception {
    Path store = Cinch.quickStore(temp);
    try (Forked server = Forked.serveHere(temp, store)) {
      String base = server.listening();
      refused(base, "", 400, "MALFORMED", "");
      refused(base, "not json", 400, "MALFORMED", "");
      refused(base, "[1]", 400, "MALFORMED", "");
      refused(base, "{\"id\":", 400, "MALFORMED", "");
      refused(base, "[".repeat(100_000), 400, "MALFORMED", "");
      refused(base, request(",\"colour\":\"red\""), 400, "MALFORMED", "colour");
      refused(base, request(",\"" + "y".repeat(10_000) + "\":1"), 400, "MALFORMED", "unknown");
      refused(base, request(" ".repeat(2 << 20)), 413, "TOO_LARGE", "1048576 bytes");
      URI uri = URI.create(base);
      for (String rubbish : new String[] {"\0\1\2\3\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "POST"}) {
        try (var socket = new Socket(uri.getHost(), uri.getPort())) {
          OutputStream out = socket.getOutputStream();
          out.write(rubbish.getBytes(StandardCharsets.UTF_8));
          socket.shutdownOutput();
          InputStream in = socket.getInputStream();
          long unused = in.transferTo(OutputStream.nullOutputStream());
        } catch (java.net.SocketException e) {
          // It hung up on us: as good an answer as any.
        }
      }
      Cinch cinch = Cinch.on(store).with("CINCH_SERVER", base);
      assertEquals("", cinch.run("lease", "list").ended(0).out());
      cinch.run("lease", "acquire", "--for=5s", "x").ended(0);
      server.signal("TERM");
      server.ended(0);
      assertEquals("", server.err());
    }
  }
}
