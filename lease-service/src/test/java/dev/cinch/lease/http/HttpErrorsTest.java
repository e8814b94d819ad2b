package dev.cinch.lease.http;

import static java.nio.charset.StandardCharsets.UTF_16;
import static java.nio.charset.StandardCharsets.UTF_16BE;
import static java.nio.charset.StandardCharsets.UTF_16LE;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.cinch.lease.memory.Rig;
import java.io.IOException;
import java.nio.charset.Charset;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What is wrong by HTTP alone has the body that every error has, and ends the connection. */
final class HttpErrorsTest {
  private static final Rig RIG = new Rig();
  private static final String HOST = "Host: x\r\n";
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
    String request =
        "POST /v1/leases/release HTTP/1.1\r\n" + HOST + headers + "\r\n\r\n" + body + " ".repeat(9);
    return new Bad(what, request, status, error);
  }

  static List<Bad> bad() {
    String length = "Content-Length: 2\r\n";
    String chunked = "Transfer-Encoding: chunked";
    return List.of(
        new Bad("rubbish", "%\1\2\r\n\r\n", 400, "MALFORMED"),
        new Bad("two words", "GET /v1/time\r\n\r\n", 400, "MALFORMED"),
        new Bad("another protocol", "GET /v1/time SMTP\r\n\r\n", 400, "MALFORMED"),
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
        new Bad("a long URI", "GET /" + "x".repeat(5_000) + " HTTP/1.1\r\n", 414, "URI_TOO_LONG"),
        new Bad("an endless URI", "GET /" + "x".repeat(500_000), 414, "URI_TOO_LONG"),
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
        new Bad(
            "an unknown method",
            "LEASE /v1/time HTTP/1.1\r\n" + HOST + "\r\n",
            501,
            "NOT_IMPLEMENTED"),
        new Bad("a tunnel", "CONNECT x:80 HTTP/1.1\r\n" + HOST + "\r\n", 501, "NOT_IMPLEMENTED"),
        post("a coding", "Transfer-Encoding: gzip", "", 501, "NOT_IMPLEMENTED"),
        post(
            "two codings", "Transfer-Encoding: gzip, chunked", "0\r\n\r\n", 501, "NOT_IMPLEMENTED"),
        post("no chunk", chunked, "xyz\r\n", 400, "MALFORMED"),
        post("a long chunk's head", chunked, "1;" + "x".repeat(9_000), 400, "MALFORMED"),
        post(
            "long trailers",
            chunked,
            "2\r\n{}\r\n0\r\nX: " + "x".repeat(9_000) + "\r\n\r\n",
            431,
            "HEADERS_TOO_LARGE"),
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

  @ParameterizedTest
  @MethodSource("bad")
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
              "Content-Type: application/x-www-form-urlencoded",
              "Content-Encoding: identity")) {
        isError(client.post("/v1/leases/release", body, header), 410, "NOT_HELD");
      }
    }
  }

  @Test
  void aBodyThatIsWaitedForIsAskedFor() throws Exception {
    try (var client = new RawClient(server.port())) {
      client.send(
          "POST /v1/leases/release HTTP/1.1\r\nHost: x\r\n"
              + "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
      assertEquals(100, client.response().status());
      isError(client.send("{}").response(), 400, "MALFORMED");
    }
  }

  @Test
  void requestsSentAheadAreAnsweredInTheirOrder() throws Exception {
    try (var client = new RawClient(server.port())) {
      client.send(
          ("GET /v1/time HTTP/1.1\r\nHost: x\r\n\r\nGET /v1/nothing HTTP/1.1\r\nHost: x\r\n\r\n"
                  + "POST /v1/leases/release HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
              .repeat(100));
      for (int i = 0; i < 100; i++) {
        assertEquals(200, client.response().status());
        assertEquals(404, client.response().status());
        assertEquals(400, client.response().status());
      }
    }
  }
}
