package dev.cinch.lease.time;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Instant;
import org.junit.jupiter.api.Test;

class WaitsTest {
  private static final long SECOND = 1_000_000_000L;

  @Test
  void waitsAreRoundedUpToAUnitThatIsSmallBesideThem() {
    assertEquals("0 s", Waits.inWords(0));
    assertEquals("1 s", Waits.inWords(1));
    assertEquals("90 s", Waits.inWords(90 * SECOND));
    assertEquals("2 min", Waits.inWords(90 * SECOND + 1));
    assertEquals("12 min", Waits.inWords(12 * 60 * SECOND));
    assertEquals("90 min", Waits.inWords(90 * 60 * SECOND));
    assertEquals("8 h", Waits.inWords(8 * 3600 * SECOND));
    assertEquals("8 h 1 min", Waits.inWords(8 * 3600 * SECOND + 1));
    assertEquals("3 days", Waits.inWords(49 * 3600 * SECOND));
    assertEquals("106752 days", Waits.inWords(Long.MAX_VALUE));
  }

  @Test
  void theEndHasItsDateUnlessThatIsToday() {
    long now = Instant.parse("2026-11-23T13:50:09.5Z").getEpochSecond() * SECOND + SECOND / 2;
    assertEquals("in 12 min, at 14:02:10 UTC", Waits.inWords(12 * 60 * SECOND, now));
    assertEquals("in 11 h, at 2026-11-24 00:50:10 UTC", Waits.inWords(11 * 3600 * SECOND, now));
    assertEquals("in 106752 days, at 2262-04-11 23:47:17 UTC", Waits.inWords(Long.MAX_VALUE, now));
  }
}
