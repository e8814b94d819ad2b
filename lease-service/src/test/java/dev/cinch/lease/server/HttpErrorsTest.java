package dev.cinch.lease.server;

import static java.nio.charset.StandardCharsets.UTF_16;
import static java.nio.charset.StandardCharsets.UTF_16BE;
import static java.nio.charset.StandardCharsets.UTF_16LE;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.cinch.lease.instance.Rig;
import java.io.IOException;
import java.net.SocketException;
import java.nio.charset.Charset;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What is wrong by HTTP alone has the body that every error has, and ends the connection. */
final class HttpErrorsTest {
  private static final Rig RIG = new Rig();
  private static final String HOST = "Host: 127.0.0.1\r\n";
  private static LeaseServer server;

  @BeforeAll
  static void start() throws IOException {
    server = LeaseServer.builder(RIG.service, RIG.service::info).port(0).start();
  }

  @AfterAll
  static void stop() throws IOException {
    server.close();
  }

  /** A request and its answer. */
  record Bad(String what, String request, int status, String error) {
    @Override
    public String toString() {
      return what;
    }
  }

  private static Bad get(String what, String rest, int status, String error) {
    return new Bad(what, "GET /v1/time " + rest, status, error);
  }

  private static Bad post(String what, String headers, String body, int status, String error) {
    String type = headers.contains("Content-Type") ? "" : "Content-Type: application/json\r\n";
    String request =
        "POST /v1/leases/release HTTP/1.1\r\n"
            + HOST
            + type
            + headers
            + "\r\n\r\n"
            + body
            + " ".repeat(9);
    return new Bad(what, request, status, error);
  }

  static List<Bad> bad() {
    String length = "Content-Length: 2\r\n";
    String chunked = "Transfer-Encoding: chunked";
    return List.of(
        new Bad("rubbish", "%\1\2\r\n\r\n", 400, "MALFORMED"),
        new Bad("two words", "GET /v1/time\r\n\r\n", 505, "VERSION"),
        new Bad("another protocol", "GET /v1/time SMTP\r\n\r\n", 505, "VERSION"),
        new Bad("TLS", "\u0016\u0003\u0001\u0000\u00a5\u0001\n\r\n\r\n", 400, "MALFORMED"),
        get(
            "a header without a colon",
            "HTTP/1.1\r\n" + HOST + "rubbish\r\n\r\n",
            400,
            "MALFORMED"),
        get("a header's name with a blank", "HTTP/1.1\r\nHo st: x\r\n\r\n", 400, "MALFORMED"),
        get("no Host", "HTTP/1.1\r\n\r\n", 400, "MALFORMED"),
        get("two Hosts", "HTTP/1.1\r\n" + HOST + HOST + "\r\n", 400, "MALFORMED"),
        get("HTTP/9.9", "HTTP/9.9\r\n" + HOST + "\r\n", 505, "VERSION"),
        new Bad("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "VERSION"),
        new Bad("a long URI", "GET /" + "x".repeat(9_000) + " HTTP/1.1\r\n", 414, "URI_TOO_LONG"),
        get(
            "a long header",
            "HTTP/1.1\r\n" + HOST + "X: " + "x".repeat(9_000) + "\r\n\r\n",
            431,
            "HEADERS_TOO_LARGE"),
        get(
            "many headers",
            "HTTP/1.1\r\n" + HOST + "X: y\r\n".repeat(9_000) + "\r\n",
            431,
            "HEADERS_TOO_LARGE"),
        new Bad("a tunnel", "CONNECT x:80 HTTP/1.1\r\n" + HOST + "\r\n", 400, "MALFORMED"),
        post("a coding", "Transfer-Encoding: gzip", "", 400, "MALFORMED"),
        post(
            "two codings", "Transfer-Encoding: gzip, chunked", "0\r\n\r\n", 501, "NOT_IMPLEMENTED"),
        post("no chunk", chunked, "xyz\r\n", 400, "MALFORMED"),
        post("a long chunk's head", chunked, "1;" + "x".repeat(9_000), 400, "MALFORMED"),
        post(
            "long trailers",
            chunked,
            "2\r\n{}\r\n0\r\nX: " + "x".repeat(9_000) + "\r\n\r\n",
            400,
            "MALFORMED"),
        post("a length that is none", "Content-Length: x", "{}", 400, "MALFORMED"),
        post("a length below 0", "Content-Length: -2", "{}", 400, "MALFORMED"),
        post("two lengths", "Content-Length: 2\r\nContent-Length: 3", "{}", 400, "MALFORMED"),
        post("a length too large", "Content-Length: 1048577", "{}", 413, "TOO_LARGE"),
        post("a length far too large", "Content-Length: 99999999999", "{}", 413, "TOO_LARGE"),
        post(
            "chunks too large",
            chunked,
            ("ffff\r\n" + " ".repeat(0xffff) + "\r\n").repeat(17),
            413,
            "TOO_LARGE"),
        post("gzip", length + "Content-Encoding: gzip", "{}", 415, "UNSUPPORTED"),
        post(
            "Latin-1",
            length + "Content-Type: application/json; charset=iso-8859-1",
            "{}",
            415,
            "UNSUPPORTED"),
        post(
            "UTF-16",
            length + "Content-Type: application/json;Charset=\"utf-16\"",
            "{}",
            415,
            "UNSUPPORTED"));
  }

  /** Requests that somebody else may take for others: of another length, or with other headers. */
  static List<Bad> ambiguous() {
    String length = "Content-Length: 41\r\n";
    String coded = "Transfer-Encoding: chunked\r\n";
    String json = "{\"id\":\"000102030405060708090a0b0c0d0e0f\"}";
    String chunk = "\r\n" + json + "\r\n0\r\n\r\n";
    return Stream.of(
            of("a length and chunks", length + coded + "\r\n29" + chunk),
            of("chunks and a length", coded + length + "\r\n29" + chunk),
            new Bad("chunks of 1.0", release("1.0") + coded + "\r\n29" + chunk, 400, "MALFORMED"),
            of("the same length twice", length + length + "\r\n" + json),
            of("a list of lengths", "Content-Length: 41, 41\r\n\r\n" + json),
            of("a length with a sign", "Content-Length: +41\r\n\r\n" + json),
            of("a folded header", "X: a\r\n b\r\n" + length + "\r\n" + json),
            of("a folded coding", "Transfer-Encoding:\r\n\tchunked\r\n\r\n29" + chunk),
            of("a fold of nothing", "X: a\r\n \r\n" + length + "\r\n" + json),
            of("a header without a name", ": a\r\n" + length + "\r\n" + json),
            of("a blank before the colon", "Content-Length : 41\r\n\r\n" + json),
            of("LF without CR", "X: a\n" + length + "\r\n" + json),
            of("LF at the head's end", length + "\n" + json),
            of("CR without LF", "X: a\rY: b\r\n" + length + "\r\n" + json),
            of("a NUL", "X: a\0b\r\n" + length + "\r\n" + json),
            new Bad(
                "CR for a blank", "GET\r/v1/time HTTP/1.1\r\n" + HOST + "\r\n", 400, "MALFORMED"),
            of("a chunk's size with a blank", coded + "\r\n 29" + chunk),
            of("and one behind it", coded + "\r\n29 " + chunk),
            of("and something behind that", coded + "\r\n29 x" + chunk),
            of("a chunk's size above 64 bits", coded + "\r\n10000000000000029" + chunk),
            of("a chunk's size below 0", coded + "\r\n-29" + chunk),
            of("a chunk that is longer", coded + "\r\n28" + chunk),
            of("a chunk's line with LF alone", coded + "\r\n29" + chunk.substring(1)),
            of(
                "a folded trailer",
                coded + "\r\n29" + chunk.replace("0\r\n\r", "0\r\nX: a\r\n b\r\n\r")))
        .toList();
  }

  private static String release(String version) {
    return "POST /v1/leases/release HTTP/"
        + version
        + "\r\n"
        + HOST
        + "Content-Type: application/json\r\n";
  }

  private static Bad of(String what, String rest) {
    return new Bad(what, release("1.1") + rest, 400, "MALFORMED");
  }

  /** Whoever goes on sending may not hear why. */
  @Test
  void anEndlessUriIsCutOff() throws Exception {
    try (var client = new RawClient(server.port())) {
      assertThrows(
          SocketException.class,
          () -> {
            while (true) {
              var unused = client.send("GET /" + "x".repeat(500_000));
            }
          });
    }
    try (var next = new RawClient(server.port())) {
      assertEquals(200, next.get("/v1/time").status());
    }
  }

  @ParameterizedTest
  @MethodSource({"bad", "ambiguous"})
  void theyHaveTheBodyOfEveryErrorAndEndTheConnection(Bad bad) throws Exception {
    try (var client = new RawClient(server.port())) {
      RawClient.Response response = client.send(bad.request()).response();
      isError(response, bad.status(), bad.error());
      assertEquals("close", response.headers().get("connection"));
      assertTrue(client.isClosed());
    }
    try (var next = new RawClient(server.port())) {
      assertEquals(200, next.get("/v1/time").status());
    }
  }

  private static void isError(RawClient.Response response, int status, String error)
      throws IOException {
    assertEquals(status, response.status(), response.body());
    assertEquals("application/json", response.headers().get("content-type"));
    JsonNode body = response.json();
    assertEquals(error, body.get("error").textValue(), response.body());
    assertEquals(1, body.get("message").textValue().lines().count());
    assertEquals(3, body.size());
    assertTrue(body.get("retryAfterMs").isIntegralNumber());
  }

  static List<byte[]> notUtf8() {
    String json = "{\"id\":\"000102030405060708090a0b0c0d0e0f\"}";
    return List.of(
        json.getBytes(UTF_16),
        json.getBytes(UTF_16BE),
        json.getBytes(UTF_16LE),
        json.getBytes(Charset.forName("UTF-32BE")),
        json.getBytes(Charset.forName("UTF-32LE")),
        with(json, 0xff),
        with(json, 0xe4), // of Latin-1
        with(json, 0xc0, 0xa2), // a quotation mark in two bytes
        with(json, 0xe0, 0x80, 0xa2), // in three
        with(json, 0xed, 0xa0, 0x80), // half a surrogate pair
        with(json, 0xf4, 0x90, 0x80, 0x80), // above the last character
        with(json, 0xe2, 0x82)); // an end too early
  }

  /** The text with some bytes more in the string. */
  private static byte[] with(String json, int... bytes) {
    byte[] all = json.replace("00", "00" + "?".repeat(bytes.length)).getBytes(UTF_8);
    int at = json.indexOf("00") + 2;
    for (int b : bytes) {
      all[at++] = (byte) b;
    }
    return all;
  }

  @ParameterizedTest
  @MethodSource("notUtf8")
  void bodiesThatAreNotUtf8AreRefused(byte[] body) throws Exception {
    try (var client = new RawClient(server.port())) {
      RawClient.Response response = client.post("/v1/leases/release", body);
      isError(response, 400, "MALFORMED");
      String message = response.json().get("message").textValue();
      assertTrue(message.contains("UTF-8"), message);
      assertEquals(200, client.get("/v1/time").status());
    }
  }

  @Test
  void textOfOtherEncodingsInAPathIsRefused() throws Exception {
    try (var client = new RawClient(server.port())) {
      isError(client.get("/v1/leases?prefix=%ff"), 400, "MALFORMED");
      isError(client.get("/v1/leases/%c0%af"), 400, "MALFORMED");
      assertEquals(200, client.get("/v1/leases?prefix=%c3%a4").status());
    }
  }

  @Test
  void whatSaysUtf8IsTaken() throws Exception {
    byte[] body = "{\"id\":\"000102030405060708090a0b0c0d0e0f\"}".getBytes(UTF_8);
    try (var client = new RawClient(server.port())) {
      for (String header :
          List.of(
              "Content-Type: application/json; charset=UTF-8",
              "content-type: application/json;charset=\"utf-8\"",
              "Content-Encoding: identity")) {
        isError(client.post("/v1/leases/release", body, header), 410, "NOT_HELD");
      }
    }
  }

  @Test
  void aBodyThatIsWaitedForIsAskedFor() throws Exception {
    try (var client = new RawClient(server.port())) {
      client.send(
          "POST /v1/leases/release HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
              + "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
      assertEquals(100, client.response().status());
      isError(client.send("{}").response(), 400, "MALFORMED");
    }
  }

  @Test
  void chunksAreTakenWithTheirExtensionsAndTrailers() throws Exception {
    String chunks =
        "A;a=b\r\n{\"id\":\"000\r\n1f ; c\r\n102030405060708090a0b0c0d0e0f\"}\r\n000\r\nX: y\r\n\r\n";
    try (var client = new RawClient(server.port())) {
      for (int i = 0; i < 3; i++) {
        client.send("\r\n" + release("1.1") + "Transfer-Encoding: Chunked\r\n\r\n" + chunks);
      }
      for (int i = 0; i < 3; i++) {
        isError(client.response(), 410, "NOT_HELD");
      }
    }
  }

  /** The second one is answered as what it is, after the first. */
  @Test
  void whatIsWrongBehindARequestDoesNotOvertakeItsAnswer() throws Exception {
    try (var client = new RawClient(server.port())) {
      client.send(
          "GET /v1/time HTTP/1.1\r\n" + HOST + "\r\n" + "GET /v1/time HTTP/1.1\r\nX: a\r\n b\r\n");
      assertEquals(200, client.response().status());
      isError(client.response(), 400, "MALFORMED");
    }
  }

  @Test
  void aPathThatIsReadTakesHeadAndAnotherMethodIsToldWhichThereAre() throws Exception {
    try (var client = new RawClient(server.port())) {
      for (String path :
          List.of("/v1/time", "/v1/service", "/v1/leases", "/v1/shards", "/healthz", "/metrics")) {
        RawClient.Response get = client.get(path);
        client.send("HEAD " + path + " HTTP/1.1\r\n" + HOST + "\r\n");
        RawClient.Response head = client.headers();
        assertEquals(200, head.status(), path);
        assertEquals(get.headers().keySet(), head.headers().keySet(), path);
        assertEquals(get.headers().get("content-type"), head.headers().get("content-type"), path);
      }
      client.send("HEAD /v1/leases/x HTTP/1.1\r\n" + HOST + "\r\n");
      assertEquals(404, client.headers().status());
      for (String path : List.of("/v1/leases/x", "/v1/lately", "/metrics", "/readyz")) {
        RawClient.Response other =
            client.send("PUT " + path + " HTTP/1.1\r\n" + HOST + "\r\n").response();
        isError(other, 405, "METHOD");
        assertEquals("GET, HEAD", other.headers().get("allow"), path);
      }
      for (String path : List.of("/v1/leases/acquire", "/v1/leases/batch", "/v1/leases/revoke")) {
        RawClient.Response other =
            client.send("DELETE " + path + " HTTP/1.1\r\n" + HOST + "\r\n").response();
        isError(other, 405, "METHOD");
        assertEquals("GET, HEAD, POST", other.headers().get("allow"), path);
      }
    }
  }

  @Test
  void requestsSentAheadAreAnsweredInTheirOrder() throws Exception {
    try (var client = new RawClient(server.port())) {
      client.send(
          ("GET /v1/time HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /v1/nothing HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
                  + "POST /v1/leases/release HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
              .repeat(100));
      for (int i = 0; i < 100; i++) {
        assertEquals(200, client.response().status());
        assertEquals(404, client.response().status());
        assertEquals(400, client.response().status());
      }
    }
  }
}
