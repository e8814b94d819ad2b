package dev.cinch.cli.base;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.code_intelligence.jazzer.junit.FuzzTest;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.cinch.cli.append.LineReader;
import dev.cinch.cli.base.Converters.Moment;
import dev.cinch.fuzz.Hostile;
import dev.cinch.lease.OneLine;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** What the command line takes from people, the kernel and standard input. */
final class TextFuzzTest {
  /** Buffers of input and output. */
  private static final long BUFFERS = 1 << 20;

  private static final TimeText TIMES =
      new TimeText(
          () -> Instant.ofEpochSecond(1_795_476_600L), () -> LocalZone.of("Europe/Berlin"));

  @FuzzTest
  void timesAndDurations(byte[] data) {
    String text = new String(data, StandardCharsets.UTF_8);
    int n = data.length;
    Hostile.parse(n, () -> TIMES.parse(text), IllegalArgumentException.class)
        .ifPresent(t -> assertEquals(t, TIMES.parse(Moment.text(t.nanos()))));
    Hostile.parse(n, () -> Converters.duration(text), IllegalArgumentException.class)
        .ifPresent(d -> assertEquals(d, Converters.duration(whole(d.toNanos()))));
  }

  /** In two parts: one number has too few digits for each time in nanoseconds. */
  private static String whole(long nanos) {
    long millis = nanos / 1_000_000;
    return (nanos < 0 ? "-" : "") + Math.abs(millis) + "ms" + Math.abs(nanos % 1_000_000) + "ns";
  }

  /** The first two bytes are the limit and the size of a block. */
  @FuzzTest
  void lines(byte[] data) throws IOException {
    if (data.length < 2) {
      return;
    }
    int limit = data[0] & 0x1f;
    int block = 1 + (data[1] & 0x3f);
    byte[] input = Arrays.copyOfRange(data, 2, data.length);
    var found = new ArrayList<String>();
    var reader = new LineReader(new ByteArrayInputStream(input), limit, block);
    for (LineReader.@Nullable Lines l = reader.read(); l != null; l = reader.read()) {
      for (int i = 0; i < l.count(); i++) {
        assertEquals(found.size() + 1, l.first + i);
        found.add(shown(l.bytes, l.start(i), l.length(i), limit));
      }
    }
    var expected = new ArrayList<String>();
    int start = 0;
    for (int i = 0; i <= input.length; i++) {
      if (i < input.length ? input[i] == '\n' : i > start) {
        expected.add(shown(input, start, i - start, limit));
        start = i + 1;
      }
    }
    assertEquals(expected, found);
  }

  private static String shown(byte[] bytes, int start, long length, int limit) {
    return length > limit
        ? length + " bytes"
        : Arrays.toString(Arrays.copyOfRange(bytes, start, start + (int) length));
  }

  /** A payload as JSON says what it was. */
  @FuzzTest
  void payload(byte[] data) throws IOException {
    boolean valid = true;
    try {
      StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(data));
    } catch (CharacterCodingException e) {
      valid = false;
    }
    var bytes = new ByteArrayOutputStream();
    try (var out = new Output(bytes)) {
      var unused = new JsonLines(out).object().payload(data).end();
    }
    assertTrue(bytes.size() <= BUFFERS + 6L * data.length);
    assertEquals(
        0,
        bytes.toString(StandardCharsets.UTF_8).strip().chars().filter(OneLine::isHidden).count());
    JsonNode read = new JsonMapper().readTree(bytes.toByteArray());
    assertArrayEquals(
        data,
        valid
            ? read.get("payload").textValue().getBytes(StandardCharsets.UTF_8)
            : read.get("payloadBase64").binaryValue());
  }
}
