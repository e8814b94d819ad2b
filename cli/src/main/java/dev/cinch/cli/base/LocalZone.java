package dev.cinch.cli.base;

import dev.cinch.lease.OneLine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.DayOfWeek;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.Year;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.temporal.TemporalAdjusters;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The zone of times that name none, as the C library and so {@code date} read it. Java reads {@code
 * TZ=GMT+8} with the other sign, {@code CET-1CEST,M3.5.0,M10.5.0/3} without its summer time and
 * what it does not know as some zone without one. What is not surely read alike is refused.
 */
final class LocalZone {
  private static final String NAME = "(?:[A-Za-z]{3,30}|<[A-Za-z0-9+-]{3,30}>)";
  private static final String SPAN = "[+-]?\\d{1,3}(?::\\d{1,2}){0,2}";
  private static final String DAY = "(J?\\d{1,3}|M\\d{1,2}\\.\\d\\.\\d)(?:/(" + SPAN + "))?";

  /** IEEE Std 1003.1, 8.3; the C library takes times of a whole week either way. */
  private static final Pattern POSIX =
      Pattern.compile(
          NAME + "(" + SPAN + ")(?:" + NAME + "(" + SPAN + ")?," + DAY + "," + DAY + ")?");

  private static final Path MACHINES = Path.of("/etc/localtime");
  private static final Path ZONES = Path.of("/usr/share/zoneinfo");

  /** Those that a timestamp can be in, and one more at each end. */
  private static final int FIRST_YEAR = 1676;

  private static final int LAST_YEAR = 2263;

  private LocalZone() {}

  /**
   * @param tz the variable TZ; null if it is not set
   * @throws Misuse if it is no zone that is known, in one line that says what to do
   */
  static ZoneRules of(@Nullable String tz) {
    try {
      ZoneRules rules = tz == null ? machines() : named(tz.startsWith(":") ? tz.substring(1) : tz);
      if (rules != null) {
        return rules;
      }
    } catch (IOException | DateTimeException | IllegalArgumentException e) {
      // Told below: each of them is no zone that can be read.
    }
    throw new Misuse(
        (tz == null
                ? "the time zone of this machine, " + MACHINES + ", is none that Java knows"
                : "the time zone \"" + OneLine.of(tz, 60) + "\" in TZ is none that Cinch knows")
            + "; set TZ to one like Europe/Berlin or CET-1CEST,M3.5.0,M10.5.0/3, or end the time"
            + " with Z");
  }

  private static @Nullable ZoneRules named(String text) throws IOException {
    if (text.isEmpty()) {
      return ZoneOffset.UTC.getRules();
    }
    if (text.startsWith("/")) {
      Path file = Path.of(text);
      return file.equals(MACHINES) ? machines() : known(nameOf(file));
    }
    ZoneRules rules = known(text);
    return rules != null ? rules : posix(text);
  }

  /** Not what Java makes of it: Debian's /etc/timezone, of which the C library knows nothing. */
  private static @Nullable ZoneRules machines() throws IOException {
    if (!Files.exists(MACHINES)) {
      return ZoneOffset.UTC.getRules();
    }
    ZoneRules rules = known(nameOf(MACHINES));
    if (rules == null) { // a copy, as containers have it
      ZoneId supposed = ZoneId.systemDefault();
      byte[] file = Files.readAllBytes(ZONES.resolve(supposed.getId()));
      rules = Arrays.equals(file, Files.readAllBytes(MACHINES)) ? supposed.getRules() : null;
    }
    return rules;
  }

  private static String nameOf(Path file) throws IOException {
    Path real = file.toRealPath();
    Path zones = ZONES.toRealPath();
    return real.startsWith(zones) ? zones.relativize(real).toString() : "";
  }

  private static @Nullable ZoneRules known(String text) {
    String name = text.startsWith("posix/") ? text.substring(6) : text;
    if (ZoneId.getAvailableZoneIds().contains(name)) {
      return ZoneId.of(name).getRules();
    }
    // EST, MST and HST; the others of the old names are not the C library's.
    String offset = ZoneId.SHORT_IDS.getOrDefault(name, "");
    return offset.startsWith("-") ? ZoneOffset.of(offset).getRules() : null;
  }

  private static @Nullable ZoneRules posix(String text) {
    Matcher m = POSIX.matcher(text);
    if (!m.matches()) {
      return null;
    }
    ZoneOffset standard = ZoneOffset.ofTotalSeconds(-seconds(m.group(1)));
    String from = m.group(3);
    String to = m.group(5);
    if (from == null || to == null) {
      return standard.getRules();
    }
    ZoneOffset summer =
        ZoneOffset.ofTotalSeconds(
            m.group(2) == null ? standard.getTotalSeconds() + 3_600 : -seconds(m.group(2)));
    var transitions = new ArrayList<ZoneOffsetTransition>();
    for (int year = FIRST_YEAR; year <= LAST_YEAR; year++) {
      transitions.add(ZoneOffsetTransition.of(at(year, from, m.group(4)), standard, summer));
      transitions.add(ZoneOffsetTransition.of(at(year, to, m.group(6)), summer, standard));
    }
    transitions.sort(null);
    return alternate(transitions)
        ? ZoneRules.of(
            standard, transitions.get(0).getOffsetBefore(), List.of(), transitions, List.of())
        : null;
  }

  private static boolean alternate(List<ZoneOffsetTransition> sorted) {
    for (int i = 1; i < sorted.size(); i++) {
      ZoneOffsetTransition last = sorted.get(i - 1);
      if (!last.getInstant().isBefore(sorted.get(i).getInstant())
          || !last.getOffsetAfter().equals(sorted.get(i).getOffsetBefore())) {
        return false;
      }
    }
    return true;
  }

  /** The local time of a change, by the clock that is set then; at 02:00 unless said otherwise. */
  private static LocalDateTime at(int year, String day, @Nullable String time) {
    LocalDate first = LocalDate.ofYearDay(year, 1);
    LocalDate date;
    if (day.startsWith("M")) { // month, week, of which 5 is the last one, and day from Sunday on
      String[] parts = day.substring(1).split("\\.");
      int week = number(parts[1], 1, 5);
      DayOfWeek weekday = DayOfWeek.SUNDAY.plus(number(parts[2], 0, 6));
      LocalDate month = first.withMonth(number(parts[0], 1, 12));
      date =
          month.with(
              week == 5
                  ? TemporalAdjusters.lastInMonth(weekday)
                  : TemporalAdjusters.dayOfWeekInMonth(week, weekday));
    } else if (day.startsWith("J")) { // from 1 on, without the 29th of February
      int number = number(day.substring(1), 1, 365);
      date = first.plusDays(number - (number > 59 && Year.isLeap(year) ? 0 : 1));
    } else {
      date = first.plusDays(number(day, 0, 365));
    }
    return date.atStartOfDay().plusSeconds(time == null ? 7_200 : seconds(time));
  }

  /** Hours, minutes and seconds. */
  private static int seconds(String span) {
    boolean signed = !Character.isDigit(span.charAt(0));
    String[] parts = span.substring(signed ? 1 : 0).split(":");
    int seconds = number(parts[0], 0, 167) * 3_600;
    seconds += parts.length > 1 ? number(parts[1], 0, 59) * 60 : 0;
    seconds += parts.length > 2 ? number(parts[2], 0, 59) : 0;
    return span.startsWith("-") ? -seconds : seconds;
  }

  private static int number(String digits, int least, int most) {
    int number = Integer.parseInt(digits);
    if (number < least || number > most) {
      throw new DateTimeException("out of range");
    }
    return number;
  }
}
