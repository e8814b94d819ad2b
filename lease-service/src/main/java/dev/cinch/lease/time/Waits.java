package dev.cinch.lease.time;

import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/** How long something takes, in words. Stateless. */
public final class Waits {
  private static final long SECOND = 1_000_000_000L;
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("HH:mm:ss", Locale.ROOT);

  private Waits() {}

  /**
   * A wait and its end, like {@code in 12 min, at 14:02:10 UTC}; with the date if that is not
   * today's. Both are rounded up, so that whoever comes then does not come too early.
   *
   * @param nanos how long, nanoseconds, 0 or more
   * @param now nanoseconds since the Unix epoch
   */
  public static String inWords(long nanos, long now) {
    long end = now > Long.MAX_VALUE - nanos ? Long.MAX_VALUE : now + nanos;
    ZonedDateTime at = utc(Math.floorDiv(end, SECOND) + (Math.floorMod(end, SECOND) > 0 ? 1 : 0));
    LocalDate today = utc(Math.floorDiv(now, SECOND)).toLocalDate();
    String day = at.toLocalDate().equals(today) ? "" : at.toLocalDate() + " ";
    return "in " + inWords(nanos) + ", at " + day + TIME.format(at) + " UTC";
  }

  /**
   * A length of time, rounded up to a unit that is small beside it: {@code 40 s}, {@code 12 min},
   * {@code 2 h 5 min}, {@code 3 days}.
   *
   * @param nanos nanoseconds, 0 or more
   */
  public static String inWords(long nanos) {
    long seconds = up(nanos, SECOND);
    if (seconds <= 90) {
      return seconds + " s";
    }
    long minutes = up(seconds, 60);
    if (minutes <= 90) {
      return minutes + " min";
    }
    if (minutes <= 48 * 60) {
      return minutes / 60 + " h" + (minutes % 60 == 0 ? "" : " " + minutes % 60 + " min");
    }
    return up(minutes, 24 * 60) + " days";
  }

  /** A difference; the lowest or highest number where it is beyond. */
  public static long saturatedMinus(long a, long b) {
    long difference = a - b;
    boolean overflow = ((a ^ b) & (a ^ difference)) < 0;
    return overflow ? (a < 0 ? Long.MIN_VALUE : Long.MAX_VALUE) : difference;
  }

  private static long up(long what, long unit) {
    return what / unit + (what % unit > 0 ? 1 : 0);
  }

  private static ZonedDateTime utc(long seconds) {
    return Instant.ofEpochSecond(seconds).atZone(ZoneOffset.UTC);
  }
}
