package dev.cinch.cli.base;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.base.Converters.Moment;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.zone.ZoneRules;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The variable TZ. */
final class LocalZoneTest {
  private static final List<String> TIMES =
      List.of("2026-01-15T14:00", "2026-07-15T14:00", "2024-02-29T23:30", "2026-10-25T06:00");

  /** What {@code date} of GNU says of the first of the times. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "'GMT+8' | 2026-01-15T22:00Z 2026-07-15T22:00Z",
        "'GMT-8' | 2026-01-15T06:00Z 2026-07-15T06:00Z",
        "'GMT0' | 2026-01-15T14:00Z 2026-07-15T14:00Z",
        "'UTC' | 2026-01-15T14:00Z 2026-07-15T14:00Z",
        "'' | 2026-01-15T14:00Z 2026-07-15T14:00Z",
        "':' | 2026-01-15T14:00Z 2026-07-15T14:00Z",
        "'PST8' | 2026-01-15T22:00Z 2026-07-15T22:00Z",
        "'IST-5:30' | 2026-01-15T08:30Z 2026-07-15T08:30Z",
        "'<+03>-3' | 2026-01-15T11:00Z 2026-07-15T11:00Z",
        "'EST' | 2026-01-15T19:00Z 2026-07-15T19:00Z",
        "'Etc/GMT+8' | 2026-01-15T22:00Z 2026-07-15T22:00Z",
        "'EST5EDT' | 2026-01-15T19:00Z 2026-07-15T18:00Z",
        "':Europe/Berlin' | 2026-01-15T13:00Z 2026-07-15T12:00Z",
        "'posix/Asia/Tokyo' | 2026-01-15T05:00Z 2026-07-15T05:00Z",
        "'/usr/share/zoneinfo/Asia/Kolkata' | 2026-01-15T08:30Z 2026-07-15T08:30Z",
        "'CET-1CEST,M3.5.0,M10.5.0/3' | 2026-01-15T13:00Z 2026-07-15T12:00Z 2024-02-29T22:30Z 2026-10-25T05:00Z",
        "'EST5EDT,M3.2.0,M11.1.0' | 2026-01-15T19:00Z 2026-07-15T18:00Z 2024-03-01T04:30Z 2026-10-25T10:00Z",
        "'AEST-10AEDT,M10.1.0,M4.1.0/3' | 2026-01-15T03:00Z 2026-07-15T04:00Z 2024-02-29T12:30Z 2026-10-24T19:00Z",
        "'IST-1GMT0,M10.5.0,M3.5.0/1' | 2026-01-15T14:00Z 2026-07-15T13:00Z 2024-02-29T23:30Z 2026-10-25T06:00Z",
        "'<-02>2<-01>,M3.5.0/-1,M10.5.0/0' | 2026-01-15T16:00Z 2026-07-15T15:00Z 2024-03-01T01:30Z 2026-10-25T08:00Z",
        "'EET-2EEST,M3.4.4/50,M10.4.4/50' | 2026-01-15T12:00Z 2026-07-15T11:00Z 2024-02-29T21:30Z 2026-10-25T04:00Z",
        "'<+1030>-10:30<+11>-11,M10.1.0,M4.1.0' | 2026-01-15T03:00Z 2026-07-15T03:30Z 2024-02-29T12:30Z 2026-10-24T19:00Z",
        "'XXX3YYY,J60/0,J300/0' | 2026-01-15T17:00Z 2026-07-15T16:00Z 2024-03-01T02:30Z 2026-10-25T08:00Z",
        "'XXX3YYY,J59/24,J300/0' | 2026-01-15T17:00Z 2026-07-15T16:00Z 2024-03-01T01:30Z 2026-10-25T08:00Z",
        "'XXX3YYY2:30,60,299/25' | 2026-01-15T17:00Z 2026-07-15T16:30Z 2024-03-01T02:30Z 2026-10-25T08:30Z",
        "'XXX3YYY2:30,59,299/25' | 2026-01-15T17:00Z 2026-07-15T16:30Z 2024-03-01T02:00Z 2026-10-25T08:30Z"
      })
  void zonesAreReadAsTheCLibraryReadsThem(String tz, String expected) {
    var times = new TimeText(() -> Instant.EPOCH, () -> LocalZone.of(tz));
    var read = new ArrayList<String>();
    for (String time : TIMES.subList(0, expected.split(" ").length)) {
      read.add(Moment.text(times.parse(time).nanos()).replace(":00Z", "Z"));
    }
    assertEquals(expected, String.join(" ", read));
  }

  /** Rules that have held in these zones all the while. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "CET-1CEST,M3.5.0,M10.5.0/3 | Europe/Berlin",
        "EST5EDT,M3.2.0,M11.1.0 | America/New_York",
        "AEST-10AEDT,M10.1.0,M4.1.0/3 | Australia/Sydney",
        "IST-1GMT0,M10.5.0,M3.5.0/1 | Europe/Dublin",
        "NZST-12NZDT,M9.5.0,M4.1.0/3 | Pacific/Auckland"
      })
  void aRuleIsTheZoneThatHasIt(String tz, String zone) {
    ZoneRules rules = LocalZone.of(tz);
    ZoneRules expected = ZoneId.of(zone).getRules();
    Instant end = Instant.parse("2028-01-01T00:00:00Z");
    for (Instant t = Instant.parse("2009-01-01T00:00:00Z");
        t.isBefore(end);
        t = t.plus(Duration.ofMinutes(30))) {
      assertEquals(expected.getOffset(t), rules.getOffset(t), t.toString());
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Europe/Atlantis",
        "right/Europe/Berlin",
        "/etc/hosts",
        "/nowhere",
        "/",
        "PST",
        "Z",
        "+08:00",
        "UT+8",
        "GMT+25",
        "GMT+8:60",
        "CET-1CEST",
        "CET-1CEST,M3.5.0",
        "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.6.0,M10.5.0",
        "CET-1CEST,M3.5.7,M10.5.0",
        "CET-1CEST,J0,J300",
        "CET-1CEST,M3.5.0,M3.5.0/3",
        "CET-1CEST-1,M3.5.0,M10.5.0",
        "CET-1CEST,M3.5.0,M10.5.0/3 ",
        "\u0000"
      })
  void whatIsNoZoneThatIsSurelyReadAlikeIsRefused(String tz) {
    var times = new TimeText(() -> Instant.EPOCH, () -> LocalZone.of(tz));
    String told = "" + assertThrows(Misuse.class, () -> times.parse("14:00")).getMessage();
    assertTrue(told.startsWith("the time zone \"") && told.contains("in TZ is none that"), told);
    assertEquals(1, told.lines().count(), told);
    assertEquals(0, times.parse("1970-01-01T00:00Z").nanos(), "this one needs no zone");
  }

  @Test
  void theMachinesZoneIsThatOfTheCLibrary() {
    assertEquals(LocalZone.of(":/etc/localtime"), LocalZone.of(null));
  }
}
