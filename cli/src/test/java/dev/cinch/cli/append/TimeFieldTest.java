package dev.cinch.cli.append;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.cli.Cinch;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.time.SystemTime;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The times that lines say of themselves. */
@Timeout(600)
class TimeFieldTest {
  private static final long SECOND = 1_000_000_000L;

  @TempDir Path temp;

  private static long said(String line) {
    byte[] bytes = ("before" + line + "behind").getBytes(UTF_8);
    return new TimeField("t", SystemTime.INSTANCE).of(bytes, 6, bytes.length - 12);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "'{\"t\":\"2026-11-25T10:00:00.000000001Z\"}'|2026-11-25T10:00:00.000000001Z",
        "'{\"a\":{\"t\":1},\"t\":\"2026-11-25T12:00:00+02:00\"}'|2026-11-25T10:00:00Z",
        "'{\"t\":\"2026-11-25 10:00:00,250Z\"}'|2026-11-25T10:00:00.250Z",
        "'{\"t\":1795600800}'|2026-11-25T10:00:00Z",
        "'{\"t\":1795600800.123456}'|2026-11-25T10:00:00.123456Z",
        "'{\"t\":1795600800123}'|2026-11-25T10:00:00.123Z",
        "'{\"t\":1795600800123456}'|2026-11-25T10:00:00.123456Z",
        "'{\"t\":1795600800123456789}'|2026-11-25T10:00:00.123456789Z",
      })
  void aTimeIsReadAsPeopleWriteIt(String line, String time) {
    assertEquals(IsoTime.nanos(time), said(line));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "t",
        "{",
        "[{\"t\":1}]",
        "{\"u\":1795600800}",
        "{\"t\":null}",
        "{\"t\":[1795600800]}",
        "{\"t\":\"soon\"}",
        "{\"t\":\"9999-11-25T10:00:00Z\"}",
        "{\"t\":99999999999999999999999}",
        "{\"t\":1e99}",
        "{\"t\":-1e99}",
      })
  void allElseSaysNoTime(String line) {
    assertEquals(LogWriter.CLOCK, said(line));
  }

  /** Each is appended, in the input's order, and those that were moved are counted. */
  @Test
  void messagesHaveTheirLinesTimesWithinWhatTheStoreAllows() throws Exception {
    String store = temp.resolve("store").toString();
    Cinch.on(temp)
        .run("init", "--timestamp-distance=1h", "--grace=2h", "--longest-lease=3h", store)
        .ended(0);
    Cinch cinch = Cinch.on(Path.of(store));
    cinch.run("log", "create", "jobs").ended(0);
    long now = SystemTime.INSTANCE.wallNanos();
    long minute = 60 * SECOND;
    String input =
        said(now - 3 * minute)
            + said(now - 2 * minute)
            + said(now - 2 * minute)
            + said(now - 5 * minute)
            + "no JSON\n"
            + said(now - 70 * minute)
            + said(now + minute);
    Cinch.Ran ran = cinch.feed(input, "append", "--log=jobs", "--time-field=t", "--json").ended(0);
    assertTrue(
        ran.err()
            .endsWith(
                "7 messages committed; 2 have other times than their lines say, by up to 70 min; 1 line says no time in \"t\"\n"),
        ran.err());
    var times = new ArrayList<Long>();
    for (String receipt : ran.out().lines().toList()) {
      times.add(new ObjectMapper().readTree(receipt).get("timestampNanos").asLong());
    }
    assertEquals(
        List.of(now - 3 * minute, now - 2 * minute, now - 2 * minute + 1, now - 2 * minute + 2),
        times.subList(0, 4));
    assertTrue(times.get(4) >= now, "by the clock");
    assertTrue(times.get(5) > times.get(4) && times.get(5) < now + minute, "by the clock");
    assertEquals(now + minute, times.get(6));
    assertEquals(input, cinch.run("cat", "--log=jobs", "--live").ended(0).out());
  }

  private static String said(long nanos) {
    return "{\"t\":" + nanos + "}\n";
  }
}
