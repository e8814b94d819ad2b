package dev.cinch.lease.server;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.lease.Between;
import dev.cinch.lease.LeaseHost;
import dev.cinch.lease.access.Access;
import dev.cinch.lease.access.Caller;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.wire.Answer;
import dev.cinch.lease.wire.Health;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What the server answers to those who do not use the client. */
final class LeaseServerTest {
  private static final String ID = "000102030405060708090a0b0c0d0e0f";
  private static final Rig RIG = new Rig();
  private static final HttpClient HTTP = HttpClient.newHttpClient();
  private static LeaseServer server;

  @BeforeAll
  static void start() throws IOException {
    server = LeaseServer.builder(RIG.service, RIG.service::info).port(0).start();
  }

  @AfterAll
  static void stop() throws IOException {
    server.close();
  }

  /** A request that the API does not allow, and what it answers. */
  record Bad(String what, String method, String path, String body, int status, String error) {
    @Override
    public String toString() {
      return what;
    }
  }

  private static Bad post(String what, String operation, String body, int status, String error) {
    return new Bad(what, "POST", "/v1/leases/" + operation, body, status, error);
  }

  private static String acquire(String fields) {
    return "{\"id\":\"" + ID + "\"," + fields + "}";
  }

  private static String names(int count) {
    return IntStream.range(0, count)
        .mapToObj(i -> "\"n" + i + "\"")
        .collect(Collectors.joining(",", "\"names\":[", "]"));
  }

  private static String lasting(String durationMs) {
    return acquire("\"names\":[\"bad\"],\"holder\":\"h\",\"durationMs\":" + durationMs);
  }

  static List<Bad> bad() {
    String ok = "\"names\":[\"bad\"],\"holder\":\"h\",\"durationMs\":1000";
    return List.of(
        post("nothing", "acquire", "", 400, "MALFORMED"),
        post("not JSON", "acquire", "names=a", 400, "MALFORMED"),
        post("half of JSON", "acquire", "{\"id\":", 400, "MALFORMED"),
        post("two values", "acquire", acquire(ok) + "{}", 400, "MALFORMED"),
        post("an array", "acquire", "[]", 400, "MALFORMED"),
        post("null", "acquire", "null", 400, "MALFORMED"),
        post("nested too deep", "acquire", "[".repeat(100_000), 400, "MALFORMED"),
        post("not UTF-8 escapes", "acquire", "\"\\ud800\"", 400, "MALFORMED"),
        post("nothing in it", "acquire", "{}", 400, "MALFORMED"),
        post("unknown field", "acquire", acquire(ok + ",\"ttl\":5"), 400, "MALFORMED"),
        post("a field twice", "acquire", acquire(ok + ",\"holder\":\"x\""), 400, "MALFORMED"),
        post("null for a field", "acquire", acquire("\"names\":null"), 400, "MALFORMED"),
        post("a bad id", "acquire", "{\"id\":\"xyz\"," + ok + "}", 400, "MALFORMED"),
        post("a bad log", "acquire", acquire(ok + ",\"logs\":[\"x\"]"), 400, "MALFORMED"),
        post("logs some", "acquire", acquire(ok + ",\"logs\":\"some\""), 400, "MALFORMED"),
        post("tentative maybe", "acquire", acquire(ok + ",\"tentative\":1"), 400, "MALFORMED"),
        post("duration as text", "acquire", lasting("\"5\""), 400, "MALFORMED"),
        post("duration as fraction", "acquire", lasting("5.5"), 400, "MALFORMED"),
        post("duration of 2^64", "acquire", lasting("18446744073709551616"), 400, "MALFORMED"),
        post("duration 0", "acquire", lasting("0"), 400, "INVALID"),
        post("duration below 0", "acquire", lasting("-1"), 400, "INVALID"),
        post("duration a year", "acquire", lasting("31536000000"), 400, "INVALID"),
        post("duration 2^63-1", "acquire", lasting("9223372036854775807"), 400, "INVALID"),
        post("no names", "acquire", acquire(ok.replace("\"bad\"", "")), 400, "INVALID"),
        post(
            "10,000 names",
            "acquire",
            acquire(ok.replace("\"names\":[\"bad\"]", names(10_000))),
            400,
            "INVALID"),
        post(
            "a name twice",
            "acquire",
            acquire(ok.replace("\"bad\"", "\"bad\",\"bad\"")),
            400,
            "INVALID"),
        post(
            "a name of 256",
            "acquire",
            acquire(ok.replace("bad", "x".repeat(256))),
            400,
            "MALFORMED"),
        post(
            "a name of 500,000",
            "acquire",
            acquire(ok.replace("bad", "x".repeat(500_000))),
            400,
            "MALFORMED"),
        post("an empty name", "acquire", acquire(ok.replace("bad", "")), 400, "MALFORMED"),
        post("a name with a blank", "acquire", acquire(ok.replace("bad", "a b")), 400, "MALFORMED"),
        post("NUL in a name", "acquire", acquire(ok.replace("bad", "a\\u0000b")), 400, "MALFORMED"),
        post(
            "a line feed in a name",
            "acquire",
            acquire(ok.replace("bad", "a\\nb")),
            400,
            "MALFORMED"),
        post(
            "half a surrogate pair in a name",
            "acquire",
            acquire(ok.replace("bad", "a\\ud800")),
            400,
            "MALFORMED"),
        post(
            "half a surrogate pair in a field",
            "acquire",
            acquire(ok + ",\"\\udc00\\n\":5"),
            400,
            "MALFORMED"),
        post(
            "half a surrogate pair in a holder",
            "acquire",
            acquire(ok.replace("\"h\"", "\"\\ud800\"")),
            400,
            "INVALID"),
        post(
            "NUL in a holder",
            "acquire",
            acquire(ok.replace("\"h\"", "\"\\u0000\"")),
            400,
            "INVALID"),
        post(
            "names that are numbers",
            "acquire",
            acquire(ok.replace("\"bad\"", "7")),
            400,
            "MALFORMED"),
        post(
            "a holder that is true",
            "acquire",
            acquire(ok.replace("\"h\"", "true")),
            400,
            "MALFORMED"),
        post("a letter alone", "acquire", "\u00ff", 400, "MALFORMED"),
        new Bad(
            "half a surrogate pair in a path", "GET", "/v1/leases/%ED%A0%80", "", 400, "MALFORMED"),
        new Bad("a long path", "GET", "/v1/" + "x".repeat(2_000), "", 404, "NO_SUCH_PATH"),
        post(
            "names as text",
            "acquire",
            acquire(ok.replace("[\"bad\"]", "\"b\"")),
            400,
            "MALFORMED"),
        post(
            "a holder of 256",
            "acquire",
            acquire(ok.replace("\"h\"", "\"" + "h".repeat(256) + "\"")),
            400,
            "INVALID"),
        post(
            "a holder with an escape",
            "acquire",
            acquire(ok.replace("\"h\"", "\"\\u001b[31m\"")),
            400,
            "INVALID"),
        post(
            "a holder that turns the direction of text",
            "acquire",
            acquire(ok.replace("\"h\"", "\"\\u202e\"")),
            400,
            "INVALID"),
        post(
            "a data file that turns the direction of text",
            "release",
            "{\"id\":\""
                + ID
                + "\",\"report\":{\"metadata\":[{\"log\":\""
                + ID
                + "\",\"bucketStart\":\"1970-01-01T00:00:01Z\",\"dataFile\":\"x\\u2066\"}]}}",
            400,
            "INVALID"),
        post("too large", "acquire", " ".repeat(LeaseServer.MAX_BODY_BYTES + 1), 413, "TOO_LARGE"),
        post("far too large", "acquire", " ".repeat(5_000_000), 413, "TOO_LARGE"),
        post(
            "renewing what is not held",
            "renew",
            "{\"id\":\"" + ID + "\",\"durationMs\":5}",
            410,
            "NOT_HELD"),
        post("renewing without duration", "renew", "{\"id\":\"" + ID + "\"}", 400, "MALFORMED"),
        post(
            "an unknown field in a report",
            "release",
            "{\"id\":\"" + ID + "\",\"report\":{\"done\":true}}",
            400,
            "MALFORMED"),
        post("releasing what is not held", "release", "{\"id\":\"" + ID + "\"}", 410, "NOT_HELD"),
        post(
            "upgrading what is not held",
            "upgrade",
            "{\"id\":\"" + ID + "\",\"durationMs\":5}",
            410,
            "NOT_HELD"),
        new Bad("no such path", "GET", "/leases", "", 404, "NO_SUCH_PATH"),
        new Bad("no such version", "GET", "/v2/leases", "", 404, "NO_SUCH_PATH"),
        new Bad("no such operation", "POST", "/v1/revoke", "{}", 404, "NO_SUCH_PATH"),
        new Bad("PUT to acquire", "PUT", "/v1/leases/acquire", "{}", 405, "METHOD"),
        new Bad("POST to a name", "POST", "/v1/leases/a", "{}", 405, "METHOD"),
        new Bad("DELETE of a name", "DELETE", "/v1/leases/a", "", 405, "METHOD"),
        new Bad("POST to time", "POST", "/v1/time", "{}", 405, "METHOD"),
        new Bad("an unknown name", "GET", "/v1/leases/nobody", "", 404, "UNKNOWN_NAME"),
        new Bad("a bad name", "GET", "/v1/leases/%00", "", 400, "MALFORMED"),
        new Bad("an empty name in the path", "GET", "/v1/leases/", "", 400, "MALFORMED"),
        new Bad("a limit of 0", "GET", "/v1/leases?limit=0", "", 400, "MALFORMED"),
        new Bad("a limit of 10,001", "GET", "/v1/leases?limit=10001", "", 400, "MALFORMED"),
        new Bad("a limit of x", "GET", "/v1/leases?limit=x", "", 400, "MALFORMED"),
        new Bad("an unknown parameter", "GET", "/v1/leases?page=2", "", 400, "MALFORMED"),
        new Bad("a parameter twice", "GET", "/v1/leases?limit=1&limit=2", "", 400, "MALFORMED"),
        new Bad("a parameter of time", "GET", "/v1/time?zone=utc", "", 400, "MALFORMED"));
  }

  @ParameterizedTest
  @MethodSource("bad")
  void badInputIsAnsweredWithItsErrorInOneLine(Bad bad) throws Exception {
    HttpResponse<String> response = send(bad.method(), bad.path(), bad.body());
    assertEquals(bad.status(), response.statusCode(), response.body());
    JsonNode body = new ObjectMapper().readTree(response.body());
    assertEquals(bad.error(), body.get("error").textValue(), response.body());
    assertEquals(1, body.get("message").textValue().lines().count());
    assertTrue(body.get("message").textValue().length() < 300, response.body());
    assertTrue(body.get("retryAfterMs").isIntegralNumber());
    assertEquals("application/json", response.headers().firstValue("Content-Type").orElseThrow());
    // None of it took anything, and the server still serves.
    assertTrue(RIG.service.show(new dev.cinch.lease.LeaseName("bad")).isEmpty());
    assertEquals(200, send("GET", "/v1/time", "").statusCode());
  }

  @Test
  void aRequestThatStopsHalfWayHarmsNobody() throws Exception {
    for (String half :
        List.of(
            "POST /v1/leases/acquire HTTP/1.1\r\n"
                + "Host: 127.0.0.1\r\n"
                + "Content-Type: application/json\r\n"
                + "Content-Length: 100\r\n\r\n"
                + "{\"id",
            "POST /v1/leases/acqu",
            "\u0000\u0001\u0002\r\n\r\n")) {
      try (var socket = new Socket("127.0.0.1", server.port())) {
        socket.getOutputStream().write(half.getBytes(UTF_8));
        socket.getOutputStream().flush();
      }
    }
    assertEquals(200, send("GET", "/v1/time", "").statusCode());
  }

  @Test
  void oneConnectionServesManyRequests() throws Exception {
    try (var socket = new Socket("127.0.0.1", server.port())) {
      socket.setSoTimeout(600_000);
      var in = socket.getInputStream();
      for (int i = 0; i < 3; i++) {
        String request = "GET /v1/time HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
        socket.getOutputStream().write(request.getBytes(UTF_8));
        var answer = new StringBuilder();
        while (answer.indexOf("}") < 0) {
          int next = in.read();
          assertTrue(next >= 0, "closed after " + answer);
          answer.append((char) next);
        }
        assertTrue(answer.toString().startsWith("HTTP/1.1 200 OK\r\n"), answer.toString());
      }
    }
  }

  private static LeaseHost failing(Supplier<Throwable> how) {
    return Between.of(
        LeaseHost.class,
        call -> {
          if (call.is("listen")) {
            return false;
          }
          throw how.get();
        });
  }

  /** It is answered, and said in the log. */
  @Test
  void whatFailsIsAnswered() throws Exception {
    LeaseHost failing = failing(() -> new IllegalStateException("made by a test"));
    var routes =
        new Routes(
            failing,
            RIG.service::info,
            () -> Health.of(RIG.service.info()),
            null,
            new ServerMetrics(() -> 0),
            () -> 0);
    Caller caller = Access.withoutTokens().caller(List.of(), null, Optional.empty());
    Answer answer = routes.answer("GET", "/v1/time", null, new byte[0], caller);
    assertEquals(500, answer.status());
    try (var other = LeaseServer.builder(failing, RIG.service::info).port(0).start()) {
      HttpResponse<String> response =
          HTTP.send(
              HttpRequest.newBuilder(URI.create(other.uri() + "/v1/time")).build(),
              HttpResponse.BodyHandlers.ofString());
      assertEquals(500, response.statusCode());
      assertTrue(response.body().contains("INTERNAL"), response.body());
    }
  }

  /** On threads of Jetty and on others it gets to what the program ends by. */
  @Test
  void anErrorOfJavasOwnIsCaughtByNobody() throws Exception {
    var error = new OutOfMemoryError("made by a test");
    var uncaught = new LinkedBlockingQueue<Throwable>();
    var before = Thread.getDefaultUncaughtExceptionHandler();
    Thread.setDefaultUncaughtExceptionHandler((thread, e) -> uncaught.add(e));
    try (var other = LeaseServer.builder(failing(() -> error), RIG.service::info).port(0).start()) {
      var time = HttpRequest.newBuilder(URI.create(other.uri() + "/v1/time")).build();
      var unanswered = HTTP.sendAsync(time, HttpResponse.BodyHandlers.discarding());
      assertSame(error, uncaught.take());
      String body = acquire("\"names\":[\"a\"],\"holder\":\"h\",\"durationMs\":1000");
      var acquire =
          HttpRequest.newBuilder(URI.create(other.uri() + "/v1/leases/acquire"))
              .header("Content-Type", "application/json")
              .POST(HttpRequest.BodyPublishers.ofString(body))
              .build();
      var alsoUnanswered = HTTP.sendAsync(acquire, HttpResponse.BodyHandlers.discarding());
      assertSame(error, uncaught.take());
      boolean unused = unanswered.cancel(true) && alsoUnanswered.cancel(true);
    } finally {
      Thread.setDefaultUncaughtExceptionHandler(before);
    }
  }

  @Test
  void aPortInUseIsSaidInOneLine() {
    IOException e =
        assertThrows(
            IOException.class,
            () -> LeaseServer.builder(RIG.service, RIG.service::info).port(server.port()).start());
    String message = String.valueOf(e.getMessage());
    assertTrue(message.startsWith("can't serve on 127.0.0.1:" + server.port()), message);
    assertEquals(1, message.lines().count());
  }

  private static HttpResponse<String> send(String method, String path, String body)
      throws IOException, InterruptedException {
    return HTTP.send(
        HttpRequest.newBuilder(URI.create(server.uri() + path))
            .header("Content-Type", "application/json")
            .method(method, HttpRequest.BodyPublishers.ofString(body))
            .build(),
        HttpResponse.BodyHandlers.ofString());
  }
}
