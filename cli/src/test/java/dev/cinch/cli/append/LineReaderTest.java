package dev.cinch.cli.append;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Lines of all lengths, cut by reads and buffers of all sizes. */
class LineReaderTest {
  private static List<String> split(String input, int limit, int block, int atOnce)
      throws IOException {
    return split(input, limit, block, atOnce, null);
  }

  private static List<String> split(
      String input, int limit, int block, int atOnce, @Nullable String endLine) throws IOException {
    InputStream in =
        new FilterInputStream(new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8))) {
          @Override
          public int read(byte[] b, int off, int len) throws IOException {
            return super.read(b, off, Math.min(len, atOnce));
          }
        };
    var inputs = new Inputs(List.of("-"), in, endLine);
    var reader = new LineReader(inputs, LineReader.Ends.NEWLINE, limit, block);
    var batches = new ArrayList<LineReader.Lines>();
    for (var lines = reader.read(); lines != null; lines = reader.read()) {
      batches.add(lines);
    }
    var texts = new ArrayList<String>(); // only now: no buffer may be written over
    for (LineReader.Lines lines : batches) {
      if (lines.count() > 0) {
        assertEquals(texts.size() + 1, lines.first);
      }
      for (int i = 0; i < lines.count(); i++) {
        long length = lines.length(i);
        texts.add(
            length > limit
                ? "#" + length
                : new String(lines.bytes, lines.start(i), (int) length, StandardCharsets.UTF_8));
      }
    }
    if (reader.isCut()) {
      texts.add("CUT");
    }
    return texts;
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 5, 16, 1000})
  void theLastLineIsFoundWhereverReadsCutIt(int block) throws IOException {
    for (int atOnce = 1; atOnce < 8; atOnce++) {
      for (int limit : new int[] {1, 9}) { // it may be longer than a message may be
        assertEquals(List.of("a", ""), split("a\n\nEND\nb\n", limit, block, atOnce, "END"));
        assertEquals(List.of("a", "CUT"), split("a\nEND", limit, block, atOnce, "END"));
        assertEquals(List.of("CUT"), split("", limit, block, atOnce, "END"));
      }
      assertEquals(List.of("xEND", "ENDx", "CUT"), split("xEND\nENDx\ny", 9, block, atOnce, "END"));
    }
  }

  @Test
  void theLastNewlineEndsALineAndBeginsNone() throws IOException {
    assertEquals(List.of(), split("", 9, 4, 4));
    assertEquals(List.of(""), split("\n", 9, 4, 4));
    assertEquals(List.of("a"), split("a", 9, 4, 4));
    assertEquals(List.of("a"), split("a\n", 9, 4, 4));
    assertEquals(List.of("", "a", "", "b\r"), split("\na\n\nb\r\n", 9, 4, 4));
  }

  @Test
  void aLineOverTheLimitIsDroppedAndItsLengthIsTold() throws IOException {
    assertEquals(
        List.of("abc", "#4", "d", "#100"), split("abc\nabcd\nd\n" + "x".repeat(100), 3, 5, 2));
    assertEquals(List.of("#101", "y"), split("x".repeat(101) + "\ny", 3, 7, 7));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 5, 16, 1000})
  void anyReadsAndBuffersGiveTheSameLines(int block) throws IOException {
    var random = new Random(block);
    for (int round = 0; round < 200; round++) {
      var expected = new ArrayList<String>();
      var input = new StringBuilder();
      for (int n = random.nextInt(20); n > 0; n--) {
        String line = "z".repeat(random.nextInt(3 * block));
        input.append(line).append('\n');
        expected.add(line.length() > 2 * block ? "#" + line.length() : line);
      }
      assertEquals(
          expected, split(input.toString(), 2 * block, block, 1 + random.nextInt(2 * block)));
    }
  }
}
