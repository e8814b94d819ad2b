package dev.cinch.lease.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.LeaseName;
import dev.cinch.lease.instance.Rig;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What a page in a browser can send without asking, byte for byte, takes and tells nothing. */
final class CallersTest {
  private static final Rig RIG = new Rig();
  private static final String JSON = "Content-Type: application/json";
  private static final String EVIL = "Origin: https://evil.example";
  private static LeaseServer server;

  @BeforeAll
  static void start() throws IOException {
    server =
        LeaseServer.builder(RIG.service, RIG.service::info)
            .names(List.of("Lease_Server", "leases.example.com."))
            .port(0)
            .start();
  }

  @AfterAll
  static void stop() throws IOException {
    server.close();
  }

  private static String head(String method, String path, String host, List<String> headers) {
    String more = headers.isEmpty() ? "" : String.join("\r\n", headers) + "\r\n";
    return method + " " + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + more;
  }

  private static int acquire(String name, String host, List<String> headers) throws IOException {
    String body =
        "{\"id\":\"%032x\",\"names\":[\"%s\"],\"holder\":\"h\",\"durationMs\":1000}"
            .formatted(name.hashCode(), name);
    try (var client = new RawClient(server.port())) {
      client.send(
          head("POST", "/v1/leases/acquire", host, headers)
              + "Content-Length: "
              + body.length()
              + "\r\n\r\n"
              + body);
      RawClient.Response response = client.response();
      assertTrue(
          response.headers().keySet().stream().noneMatch(h -> h.startsWith("access-control")));
      return response.status();
    }
  }

  private static boolean isHeld(String name) throws Exception {
    return RIG.service.show(new LeaseName(name)).isPresent();
  }

  /** Headers, and the status of an acquire with them and of a look. */
  record Sent(List<String> headers, int acquire, int get) {}

  static Stream<Sent> pages() {
    return Stream.of(
        new Sent(List.of(JSON, EVIL), 403, 403),
        new Sent(List.of("Content-Type: text/plain", EVIL), 415, 403),
        new Sent(List.of(JSON, "Origin: null"), 403, 403),
        new Sent(List.of(JSON, "Origin: file://"), 403, 403),
        new Sent(List.of(JSON, "Origin:"), 403, 403),
        new Sent(List.of(JSON, "Origin: http://127.0.0.1"), 403, 403), // another port
        new Sent(List.of(JSON, "Origin: http://localhost:PORT"), 403, 403), // another name
        new Sent(List.of(JSON, "Origin: http://127.0.0.1:PORT.evil.example"), 403, 403),
        new Sent(List.of(JSON, "Origin: http://127.0.0.1:PORT", EVIL), 403, 403),
        new Sent(List.of(JSON, "Origin: http://127.0.0.1:PORT"), 200, 200),
        new Sent(List.of(JSON, "Sec-Fetch-Site: cross-site"), 403, 403),
        new Sent(List.of(JSON, "sec-fetch-site: same-site"), 403, 403),
        new Sent(List.of(JSON, "Sec-Fetch-Site: none"), 403, 200),
        new Sent(List.of(JSON, "Sec-Fetch-Site: same-origin"), 200, 200),
        new Sent(List.of(JSON, "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: x"), 403, 403),
        new Sent(List.of("Content-Type: text/plain"), 415, 200),
        new Sent(List.of("Content-Type: text/plain;charset=UTF-8"), 415, 200),
        new Sent(List.of("Content-Type: text/plain; application/json"), 415, 200),
        new Sent(List.of("Content-Type: text/plain, application/json"), 415, 200),
        new Sent(List.of("Content-Type: application/json, text/plain"), 415, 200),
        new Sent(List.of(JSON, "Content-Type: text/plain"), 415, 200),
        new Sent(List.of(JSON, JSON), 415, 200),
        new Sent(List.of("Content-Type: application/x-www-form-urlencoded"), 415, 200),
        new Sent(List.of("Content-Type: multipart/form-data; boundary=application/json"), 415, 200),
        new Sent(List.of("Content-Type: application/jsonp"), 415, 200),
        new Sent(List.of("Content-Type:"), 415, 200),
        new Sent(List.of(), 415, 200),
        new Sent(List.of("Content-Type: Application/JSON ; charset=utf-8"), 200, 200),
        new Sent(List.of(JSON), 200, 200));
  }

  @ParameterizedTest
  @MethodSource("pages")
  void aPageOfAnotherOriginTakesAndTellsNothing(Sent sent) throws Exception {
    List<String> headers =
        sent.headers.stream().map(h -> h.replace("PORT", "" + server.port())).toList();
    String name = "n" + sent.hashCode();
    String host = "127.0.0.1:" + server.port();
    assertEquals(sent.acquire, acquire(name, host, headers));
    assertEquals(sent.acquire == 200, isHeld(name));
    for (String path :
        List.of("/v1/leases", "/v1/service", "/v1/lately", "/metrics", "/healthz", "/readyz")) {
      for (String method : List.of("GET", "HEAD")) {
        try (var client = new RawClient(server.port())) {
          client.send(head(method, path, host, headers) + "\r\n");
          assertEquals(sent.get, client.headers().status(), path);
        }
      }
    }
  }

  @Test
  void noPageIsToldThatItMayAsk() throws Exception {
    for (String path : List.of("/v1/leases/acquire", "/v1/service", "*")) {
      try (var client = new RawClient(server.port())) {
        List<String> headers = List.of(EVIL, "Access-Control-Request-Method: POST");
        client.send(head("OPTIONS", path, "127.0.0.1", headers) + "\r\n");
        RawClient.Response response = client.response();
        assertEquals(403, response.status());
        assertFalse(response.headers().toString().contains("access-control"), path);
      }
    }
  }

  static Stream<String> ours() {
    return Stream.of(
        "127.0.0.1",
        "127.0.0.1:8470",
        "10.1.2.3:8470",
        "localhost:8470",
        "LocalHost",
        "localhost.:8470",
        "[::1]:8470",
        "[fe80::1]:8470",
        "lease_server:8470",
        "leases.example.com",
        "LEASES.example.com.:1");
  }

  @ParameterizedTest
  @MethodSource("ours")
  void itIsAskedByAddressesAndByItsNames(String host) throws Exception {
    assertEquals(200, acquire("h" + host.hashCode(), host, List.of(JSON)));
    assertEquals(
        200, acquire("o" + host.hashCode(), host, List.of(JSON, "Origin: http://" + host)));
  }

  static Stream<String> foreign() {
    return Stream.of(
        "evil.example:8470",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "lease_server.evil.example",
        "server:8470",
        "",
        "127.0.0.1@evil.example",
        "evil.example, 127.0.0.1",
        "localhost/",
        "loc%61lhost",
        "localhost:8470:1",
        "[::1].evil.example");
  }

  @ParameterizedTest
  @MethodSource("foreign")
  void aNameThatSomebodyElseCanHaveLeadHereIsRefused(String host) throws Exception {
    String name = "f" + host.hashCode();
    int status = acquire(name, host, List.of(JSON));
    assertTrue(status == 403 || status == 400, "" + status); // some is no Host at all
    assertEquals(Optional.empty(), RIG.service.show(new LeaseName(name)));
    if (!host.isEmpty()) {
      try (var client = new RawClient(server.port())) {
        client.send(head("GET", "http://" + host + "/v1/service", "127.0.0.1", List.of()) + "\r\n");
        assertTrue(client.response().status() >= 400);
      }
    }
  }
}
