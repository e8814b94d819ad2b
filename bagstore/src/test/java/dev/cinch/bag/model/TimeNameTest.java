package dev.cinch.bag.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Times and numbers as names, against the library's own formatting. */
class TimeNameTest {
  private static final DateTimeFormatter FORMAT =
      DateTimeFormatter.ofPattern("uuuuMMdd'T'HHmmss.SSS'Z'");
  private static final long MS = 1_000_000;

  @Test
  void everyMillisecondHasItsNameAndBack() {
    var random = new Random(5);
    for (int i = 0; i < 100_000; i++) {
      long millis = Math.floorDiv(random.nextLong(), MS);
      String name = TimeName.of(millis * MS);
      assertEquals(FORMAT.format(Instant.ofEpochMilli(millis).atOffset(ZoneOffset.UTC)), name);
      assertEquals(OptionalLong.of(millis * MS), TimeName.parse(name));
    }
    assertThrows(IllegalArgumentException.class, () -> TimeName.of(1));
  }

  @Test
  void otherNamesAreNoTimes() {
    for (String name :
        List.of(
            "",
            "prelock",
            "20261121T040225.000",
            "20261121T040225.000z",
            "20261121 040225.000Z",
            "2026112１T040225.000Z",
            "20261321T040225.000Z",
            "20260230T040225.000Z",
            "20261121T240000.000Z",
            "20261121T046025.000Z",
            "20261121T040260.000Z",
            "99991121T040225.000Z",
            "-0261121T040225.000Z")) {
      assertEquals(OptionalLong.empty(), TimeName.parse(name), name);
    }
  }

  @Test
  void numbersHaveTenDigits() {
    assertEquals("0000000001", Numbered.name(1));
    assertEquals("9999999999", Numbered.name(Numbered.MAX));
    assertEquals(OptionalLong.of(1234567890), Numbered.parse("1234567890"));
    for (String name : List.of("", "1", "00000000011", "000000000x", "-000000001", "000000000１")) {
      assertEquals(OptionalLong.empty(), Numbered.parse(name), name);
    }
    assertThrows(IllegalArgumentException.class, () -> Numbered.name(0));
    assertThrows(IllegalArgumentException.class, () -> Numbered.name(Numbered.MAX + 1));
  }
}
