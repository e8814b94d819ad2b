package dev.cinch.lease.server;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.cinch.lease.instance.Rig;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Bodies of 1 MiB that would be much work cost what others of their length do: a tenth of a second.
 */
final class CostlyBodiesTest {
  private static final int SIZE = LeaseServer.MAX_BODY_BYTES;
  private static final Rig RIG = new Rig();
  private static LeaseServer server;

  @BeforeAll
  static void start() throws IOException {
    server = LeaseServer.builder(RIG.service, RIG.service::info).port(0).start();
  }

  @AfterAll
  static void stop() throws IOException {
    server.close();
  }

  /** A start, something as often as there is room, and an end. */
  record Body(String start, String again, String end) {
    byte[] bytes() throws IOException {
      byte[] first = of(start);
      byte[] more = of(again);
      byte[] last = of(end);
      var all = new ByteArrayOutputStream(SIZE);
      all.write(first);
      while (all.size() + more.length + last.length <= SIZE) {
        all.write(more);
      }
      all.write(last);
      return all.toByteArray();
    }

    private static byte[] of(String text) {
      return text.getBytes(ISO_8859_1);
    }

    @Override
    public String toString() {
      return start + " and " + again.substring(0, Math.min(20, again.length()));
    }
  }

  static Stream<Body> bodies() {
    return Stream.of(
        new Body("", "[", ""),
        new Body("", "{\"a\":", ""),
        new Body("{\"a\":", "9", "}"),
        new Body("{\"a\":[", "9".repeat(1_000) + ",", "1]}"),
        new Body("{\"a\":[", "0." + "9".repeat(980) + "e-300,", "1]}"),
        new Body("{\"a\":[", "4.9e-324,", "1]}"),
        new Body("{\"a\":[", "1e999999999,", "1]}"),
        new Body("{\"a\":\"", "\\u0041", "\"}"),
        new Body("{\"", "\\u0041", "\":1}"),
        new Body("{", "\"a\":1,", "\"b\":1}"),
        new Body("{\"operations\":[", "{},", "{}]}"),
        new Body("{\"names\":[", "\"a\",", "\"b\"],\"durationMs\":1}"),
        new Body("{\"report\":{\"metadata\":[", "{},", "{}]}}"));
  }

  @ParameterizedTest
  @MethodSource("bodies")
  void areRefused(Body body) throws Exception {
    try (var client = new RawClient(server.port())) {
      for (String path : new String[] {"batch", "acquire", "renew"}) {
        RawClient.Response response =
            client.post("/v1/leases/" + path, body.bytes(), "Content-Type: application/json");
        assertEquals(400, response.status());
      }
      assertEquals(200, client.get("/v1/time").status());
    }
  }
}
