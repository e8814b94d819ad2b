package dev.cinch.cli.base;

import dev.cinch.cli.base.Converters.Moment;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.time.TimeSource;
import java.math.BigInteger;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads times as people give them: {@code now}, {@code -1h}, {@code 14:00}, {@code yesterday},
 * {@code 2026-11-23T14:00}, seconds to nanoseconds since 1970. All times of one command line are
 * read at the same now. Thread-safe.
 */
final class TimeText {
  private static final long NANOS = 1_000_000_000L;

  /** The date, the time of day, the zone; each but one may be missing. */
  private static final Pattern CALENDAR =
      Pattern.compile(
          "(?:(\\d{4}-\\d{2}-\\d{2})(?:[Tt ](?=\\d)|$))?"
              + "(?:(\\d{2}:\\d{2}(?::\\d{2}(?:\\.\\d{1,9})?)?)"
              + " ?([Zz]|[+-]\\d{2}(?::?\\d{2})?)?)?");

  /** What is below zero is nanoseconds, as programs give them: -5 most likely lacks its unit. */
  private static final Pattern DIGITS = Pattern.compile("\\d{1,40}|-\\d{17,40}");

  /** What is less is no count since 1970 of anything; 20261123 is a date without its dashes. */
  private static final long LEAST = 100_000_000L;

  private static final String FIRST = IsoTime.second(Long.MIN_VALUE / NANOS) + "Z";
  private static final String LAST = IsoTime.second(Long.MAX_VALUE / NANOS) + "Z";

  private final Supplier<Instant> clock;
  private final Supplier<ZoneRules> zone;
  private volatile @Nullable Instant now;

  /**
   * @param clock the wall clock, looked at once, when a time refers to it
   * @param zone the zone of times that name none, or Misuse if it is not known
   */
  TimeText(Supplier<Instant> clock, Supplier<ZoneRules> zone) {
    this.clock = clock;
    this.zone = zone;
  }

  /** With this clock and the process's zone, which the variable {@code TZ} sets. */
  static TimeText of(TimeSource time) {
    return new TimeText(() -> instant(time.wallNanos()), () -> LocalZone.of(System.getenv("TZ")));
  }

  /**
   * Reads a time.
   *
   * @throws IllegalArgumentException if it is none, in one line that gives examples; or none that a
   *     timestamp can be, in one line that gives the range
   * @throws Misuse if the zone is asked for and not known
   */
  Moment parse(String text) {
    try {
      return new Moment(IsoTime.nanos(instant(text)));
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(
          "too far away: \""
              + OneLine.of(text, 40)
              + "\"; times are from "
              + FIRST
              + " to "
              + LAST);
    } catch (DateTimeException | IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "not a time: \""
              + OneLine.of(text, 40)
              + "\"; like now, -1h, 14:00, yesterday, 2026-11-23, 2026-11-23T14:00,"
              + " 2026-11-23T14:00:05Z, or seconds since 1970");
    }
  }

  private Instant instant(String text) {
    return switch (text) {
      case "now" -> now();
      case "yesterday" -> midnight(today(zone.get()).minusDays(1), zone.get());
      case "today" -> midnight(today(zone.get()), zone.get());
      case "tomorrow" -> midnight(today(zone.get()).plusDays(1), zone.get());
      default -> written(text);
    };
  }

  private Instant written(String text) {
    if (DIGITS.matcher(text).matches()) {
      return counted(new BigInteger(text).longValueExact());
    }
    Matcher calendar = CALENDAR.matcher(text);
    if (!text.isEmpty() && calendar.matches()) {
      return of(calendar);
    }
    if (Converters.isDistance(text)) {
      Duration distance = Converters.sum(text);
      return now().plus(distance);
    }
    return Instant.parse(text); // years of more than four digits, and what else ISO has
  }

  private Instant of(Matcher calendar) {
    String date = calendar.group(1);
    String time = calendar.group(2);
    String offset = calendar.group(3);
    ZoneRules where =
        offset == null
            ? zone.get()
            : (offset.equalsIgnoreCase("Z") ? ZoneOffset.UTC : ZoneOffset.of(offset)).getRules();
    LocalDate day = date == null ? today(where) : LocalDate.parse(date);
    if (time == null) {
      return midnight(day, where);
    }
    var local = LocalDateTime.of(day, LocalTime.parse(time));
    return local.toInstant(where.getOffset(local));
  }

  /** Seconds, milliseconds, microseconds or nanoseconds: whichever gives a year from 1973 on. */
  private static Instant counted(long count) {
    if (count < 0 || count >= 1_000_000_000 * LEAST) {
      return instant(count);
    } else if (count >= 1_000_000 * LEAST) {
      return instant(Math.multiplyExact(count, 1_000L));
    } else if (count >= 1_000 * LEAST) {
      return Instant.ofEpochMilli(count);
    } else if (count >= LEAST || count == 0) {
      return Instant.ofEpochSecond(count);
    }
    throw new IllegalArgumentException("too few");
  }

  private synchronized Instant now() {
    Instant known = now;
    if (known == null) {
      known = clock.get();
      now = known;
    }
    return known;
  }

  private LocalDate today(ZoneRules where) {
    return now().atOffset(where.getOffset(now())).toLocalDate();
  }

  /** Not 00:00 where that hour is left out. */
  private static Instant midnight(LocalDate day, ZoneRules where) {
    ZoneOffsetTransition change = where.getTransition(day.atStartOfDay());
    return change != null && change.isGap()
        ? change.getInstant()
        : day.atStartOfDay().toInstant(where.getOffset(day.atStartOfDay()));
  }

  private static Instant instant(long nanos) {
    return Instant.ofEpochSecond(Math.floorDiv(nanos, NANOS), Math.floorMod(nanos, NANOS));
  }
}
