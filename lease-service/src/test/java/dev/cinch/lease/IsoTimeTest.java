package dev.cinch.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Times as text in JSON. */
final class IsoTimeTest {
  @ParameterizedTest
  @CsvSource({
    "0,                    1970-01-01T00:00:00.000000000Z",
    "1795476605123456789,  2026-11-23T23:30:05.123456789Z",
    "1795476605000000000,  2026-11-23T23:30:05.000000000Z",
    "-1,                   1969-12-31T23:59:59.999999999Z",
    "9223372036854775807,  2262-04-11T23:47:16.854775807Z",
    "-9223372036854775808, 1677-09-21T00:12:43.145224192Z",
  })
  void aTimeHasAlwaysNineDigits(long nanos, String text) {
    assertEquals(text, IsoTime.text(nanos));
    assertEquals(nanos, IsoTime.nanos(text));
  }

  @Test
  void fewerDigitsAreReadToo() {
    assertEquals(1_500_000_000L, IsoTime.nanos("1970-01-01T00:00:01.5Z"));
    assertEquals(1_000_000_000L, IsoTime.nanos("1970-01-01T00:00:01Z"));
  }

  @Test
  void whatIsNoTimeIsRefused() {
    for (String text :
        List.of("", "5", "1970-01-01", "2300-01-01T00:00:00Z", "+999999999-01-01T00:00:00Z")) {
      assertThrows(IllegalArgumentException.class, () -> IsoTime.nanos(text), text);
    }
  }
}
