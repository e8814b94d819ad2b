package dev.cinch.cli.base;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.Cinch;
import dev.cinch.cli.base.Converters.Moment;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Times and durations as people give them. */
final class TimeTextTest {
  /** 00:30 of the 24th in Berlin, while it is still the 23rd in UTC. */
  private static final Instant NOW = Instant.parse("2026-11-23T23:30:00.000000007Z");

  @TempDir private Path temp;

  private static String read(String text) {
    return read(text, "Europe/Berlin");
  }

  private static String read(String text, String zone) {
    return Moment.text(new TimeText(() -> NOW, () -> LocalZone.of(zone)).parse(text).nanos());
  }

  @ParameterizedTest
  @CsvSource({
    "now,                           2026-11-23T23:30:00.000000007Z",
    "-1h,                           2026-11-23T22:30:00.000000007Z",
    "-1h30m,                        2026-11-23T22:00:00.000000007Z",
    "+10s,                          2026-11-23T23:30:10.000000007Z",
    "-1w,                           2026-11-16T23:30:00.000000007Z",
    "14:00,                         2026-11-24T13:00:00Z",
    "14:00:05,                      2026-11-24T13:00:05Z",
    "14:00:05.25,                   2026-11-24T13:00:05.250Z",
    "14:00Z,                        2026-11-23T14:00:00Z",
    "14:00-05:00,                   2026-11-23T19:00:00Z",
    "today,                         2026-11-23T23:00:00Z",
    "yesterday,                     2026-11-22T23:00:00Z",
    "tomorrow,                      2026-11-24T23:00:00Z",
    "2026-11-23,                    2026-11-22T23:00:00Z",
    "2026-07-01,                    2026-06-30T22:00:00Z",
    "2026-11-23T14:00,              2026-11-23T13:00:00Z",
    "2026-11-23 14:00,              2026-11-23T13:00:00Z",
    "2026-11-23 14:00 Z,            2026-11-23T14:00:00Z",
    "2026-11-23T14:00:05.123456789, 2026-11-23T13:00:05.123456789Z",
    "2026-11-23T14:00+01:00,        2026-11-23T13:00:00Z",
    "2026-11-23T14:00+0530,         2026-11-23T08:30:00Z",
    "2026-11-23T14:00-05,           2026-11-23T19:00:00Z",
    "2026-11-21T04:02:25Z,          2026-11-21T04:02:25Z",
    "0,                             1970-01-01T00:00:00Z",
    "1795476605,                    2026-11-23T23:30:05Z",
    "1795476605123,                 2026-11-23T23:30:05.123Z",
    "1795476605123456,              2026-11-23T23:30:05.123456Z",
    "1795476605123456789,           2026-11-23T23:30:05.123456789Z",
    "100000000,                     1973-03-03T09:46:40Z",
    "9223372036854775807,           2262-04-11T23:47:16.854775807Z",
    "-9223372036854775808,          1677-09-21T00:12:43.145224192Z",
    "1677-09-21T00:12:43.145224192Z, 1677-09-21T00:12:43.145224192Z",
  })
  void times(String text, String expected) {
    assertEquals(expected, read(text));
  }

  /** The hour that a zone leaves out, or has twice. */
  @Test
  void hoursThatAreMissingOrTwice() {
    assertEquals("2026-03-29T01:30:00Z", read("2026-03-29T02:30"), "the clock goes on to 03:30");
    assertEquals("2026-10-25T00:30:00Z", read("2026-10-25T02:30"), "the first of the two");
    assertEquals("2018-11-04T03:00:00Z", read("2018-11-04", "America/Sao_Paulo"), "from 01:00 on");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        "-",
        "-5",
        "5m",
        "1h",
        "--1h",
        "- 1h",
        "14",
        "1400",
        "25:00",
        "14:60",
        "1:30",
        "2026",
        "20261123",
        "99999999",
        "2026-13-01",
        "2026-02-29",
        "2026-11-23T",
        "2026-11-23 ",
        "2026-11-23Z",
        "T14:00",
        "2026-11-23T14:00+99:00",
        "Now",
        "-106752d-"
      })
  void whatIsNoTime(String text) {
    var e = assertThrows(IllegalArgumentException.class, () -> read(text));
    String told = String.valueOf(e.getMessage());
    assertTrue(told.startsWith("not a time: \"" + text + "\"; like "), told);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "9223372036854775808",
        "99999999999999999999999",
        "-9223372036854775809",
        "99999999999",
        "-999999999999999d",
        "+106752d",
        "2262-04-12T00:00Z",
        "2300-01-01",
        "1677-09-21T00:12:43Z",
        "1600-01-01",
        "+999999999-01-01T00:00:00Z"
      })
  void whatIsTooFarAway(String text) {
    var e = assertThrows(IllegalArgumentException.class, () -> read(text));
    assertEquals(
        "too far away: \"%s\"; times are from 1677-09-21T00:12:44Z to 2262-04-11T23:47:16Z"
            .formatted(text),
        e.getMessage());
  }

  @Test
  void allTimesOfACommandLineHaveOneNow() {
    var looks = new AtomicInteger();
    var times =
        new TimeText(() -> NOW.plusSeconds(looks.getAndIncrement()), () -> LocalZone.of("UTC"));
    assertEquals(0, looks.get(), "what names no now asks for none");
    assertEquals(times.parse("now"), times.parse("now"));
  }

  @Test
  void durationsOfSeveralParts() {
    assertEquals(Duration.ofMinutes(90), Converters.duration("1h30m"));
    assertEquals(Duration.ofSeconds(-90), Converters.duration("-1m30s"));
    assertEquals(Duration.ofDays(14), Converters.duration("2w"));
    for (String text : List.of("1h30", "1h-30m", "h", "1h 30m", "106751d24h")) {
      assertThrows(IllegalArgumentException.class, () -> Converters.duration(text), text);
    }
    assertEquals(Duration.ofDays(106751), Converters.duration("106751d"));
    var e = assertThrows(IllegalArgumentException.class, () -> Converters.duration("106752d"));
    assertEquals("too long: \"106752d\"; a duration is at most 106751d, 292 years", e.getMessage());
  }

  /** To picocli a value that begins with a minus could be an option. */
  @Test
  void aDistanceIsTheValueOfAnOption() throws Exception {
    Cinch cinch = Cinch.on(Cinch.quickStore(temp));
    cinch.settled("jobs", "a\n", Duration.ofMinutes(40));
    for (String command : List.of("cat", "view cat")) {
      String[] words = (command + " --log jobs --from").split(" ");
      assertEquals("a\n", cinch.run(with(words, "-1h")).ended(0).out());
      assertEquals("", cinch.run(with(words, "-10m")).ended(0).out());
      assertEquals("a\n", cinch.run(with(words, "-1h", "--to", "-10m")).ended(0).out());
      assertEquals("", cinch.run(with(words, "-2h", "--to", "-1h")).ended(0).out());
    }
    cinch.run("close", "--through", "-1h30m").ended(0);
  }

  @Test
  void anEmptyRangeIsAMistake() throws Exception {
    Cinch cinch = Cinch.on(Cinch.quickStore(temp));
    cinch.settled("jobs", "a\n");
    for (String command : List.of("cat", "view cat")) {
      String[] words = (command + " --log jobs --from").split(" ");
      cinch
          .run(with(words, "2026-11-23T14:00Z", "--to", "2026-11-23T13:00Z"))
          .failed(
              2,
              "the range is empty: --from 2026-11-23T14:00:00Z is not before --to"
                  + " 2026-11-23T13:00:00Z");
      cinch.run(with(words, "now", "--to", "now")).failed(2, "the range is empty");
    }
  }

  private static String[] with(String[] words, String... more) {
    String[] all = Arrays.copyOf(words, words.length + more.length);
    System.arraycopy(more, 0, all, words.length, more.length);
    return all;
  }
}
