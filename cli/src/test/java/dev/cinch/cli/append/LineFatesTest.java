package dev.cinch.cli.append;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class LineFatesTest {
  private final LineFates fates = new LineFates(null);

  @Test
  void linesThatFollowEachOtherAreARange() throws Exception {
    for (long line : new long[] {1, 2, 4, 5, 6, 8}) {
      fates.failed(line, "REJECTED", "no");
    }
    for (long line = 30_625; line <= 60_000; line++) {
      fates.unknown(line, "gave up");
    }
    assertEquals(
        "6 of 6 messages not appended (lines 1, 2, 4 to 6, 8): no; the fate of 29376 is unknown"
            + " (lines 30625 to 60000): gave up",
        fates.summary());
  }

  @Test
  void noMoreThanTwentyRangesAreNamed() throws Exception {
    for (long line = 1; line <= 41; line += 2) {
      fates.failed(line, "REJECTED", "no");
    }
    String told =
        IntStream.range(0, 20).mapToObj(i -> "" + (2 * i + 1)).collect(Collectors.joining(", "));
    assertEquals("21 of 21 messages not appended (lines " + told + ", …): no", fates.summary());
  }
}
