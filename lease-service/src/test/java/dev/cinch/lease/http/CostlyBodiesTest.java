package dev.cinch.lease.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.memory.Rig;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.HexFormat;
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
  record Body(Wire wire, String start, String again, String end, String error) {
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

    private byte[] of(String text) {
      return wire == Wire.CBOR
          ? HexFormat.of().parseHex(text)
          : text.getBytes(java.nio.charset.StandardCharsets.ISO_8859_1);
    }

    @Override
    public String toString() {
      return wire + " " + start + " and " + again.substring(0, Math.min(20, again.length()));
    }
  }

  private static Body json(String start, String again, String end) {
    return new Body(Wire.JSON, start, again, end, "");
  }

  private static Body cbor(String start, String again, String end, String error) {
    return new Body(Wire.CBOR, start, again, end, error);
  }

  static Stream<Body> bodies() {
    String tags = "no tags";
    return Stream.of(
        cbor("a16161", "c1", "01", tags),
        cbor("a16161", "d82a", "01", tags),
        cbor("a16161", "db0101010101010101", "01", tags),
        cbor("", "d9d9f7", "a0", tags),
        cbor("a1", "c2", "616101", tags), // on a name
        cbor("a161619f", "c25f4101ff", "ff", tags), // numbers of any length
        cbor("d90100a161619f", "63616263d81900", "ff", tags), // references to text
        cbor("", "81", "", "not CBOR"),
        cbor("a161619a7fffffff", "80", "", "not CBOR"),
        cbor("a161615b7fffffffffffffff", "41", "", "not CBOR"),
        cbor("a161617bffffffffffffffff", "c1", "", "not CBOR"),
        cbor("a161617f", "60", "ff", "lacks"),
        cbor("a161615f", "4101", "ff", "lacks"),
        json("", "[", ""),
        json("", "{\"a\":", ""),
        json("{\"a\":", "9", "}"),
        json("{\"a\":[", "9".repeat(1_000) + ",", "1]}"),
        json("{\"a\":[", "0." + "9".repeat(980) + "e-300,", "1]}"),
        json("{\"a\":[", "4.9e-324,", "1]}"),
        json("{\"a\":[", "1e999999999,", "1]}"),
        json("{\"a\":\"", "\\u0041", "\"}"),
        json("{\"", "\\u0041", "\":1}"),
        json("{", "\"a\":1,", "\"b\":1}"),
        json("{\"operations\":[", "{},", "{}]}"),
        json("{\"names\":[", "\"a\",", "\"b\"],\"durationMs\":1}"),
        json("{\"report\":{\"metadata\":[", "{},", "{}]}}"));
  }

  @ParameterizedTest
  @MethodSource("bodies")
  void areRefused(Body body) throws Exception {
    try (var client = new RawClient(server.port())) {
      for (String path : new String[] {"batch", "acquire", "renew"}) {
        RawClient.Response response =
            client.post(
                "/v1/leases/" + path, body.bytes(), "Content-Type: " + body.wire.contentType);
        assertEquals(400, response.status());
        assertTrue(response.body().contains(body.error), response.body());
      }
      assertEquals(200, client.get("/v1/time").status());
    }
  }
}
