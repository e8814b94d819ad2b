package dev.cinch.lease;

import com.google.errorprone.annotations.CheckReturnValue;
import java.time.DateTimeException;
import java.time.Instant;

/**
 * Times as text in JSON: ISO 8601, UTC, always with nine digits behind the second, so that texts
 * sort as their times do. All of 64 bits of nanoseconds have one.
 */
@CheckReturnValue
public final class IsoTime {
  private static final long NANOS = 1_000_000_000L;

  private IsoTime() {}

  /**
   * A time as text.
   *
   * @param nanos since the Unix epoch
   */
  public static String text(long nanos) {
    String second = second(Math.floorDiv(nanos, NANOS));
    String fraction = Long.toString(NANOS + Math.floorMod(nanos, NANOS));
    return second + '.' + fraction.substring(1) + 'Z';
  }

  /** A whole second as text, without a zone: {@code 2026-11-23T14:00:05}. */
  public static String second(long seconds) {
    String text = Instant.ofEpochSecond(seconds).toString();
    return text.substring(0, text.length() - 1);
  }

  /**
   * Reads a time, with a fraction of up to nine digits or without.
   *
   * @return nanoseconds since the Unix epoch
   * @throws IllegalArgumentException if it is none, or is further than 64 bits of nanoseconds
   */
  public static long nanos(String text) {
    try {
      return nanos(Instant.parse(text));
    } catch (DateTimeException | ArithmeticException e) {
      throw new IllegalArgumentException("not a time of ISO 8601", e);
    }
  }

  /**
   * Nanoseconds since the Unix epoch.
   *
   * @throws ArithmeticException if 64 bits do not hold them
   */
  public static long nanos(Instant instant) {
    long seconds = instant.getEpochSecond();
    return seconds < 0 // of the first second only the end fits
        ? Math.addExact(Math.multiplyExact(seconds + 1, NANOS), instant.getNano() - NANOS)
        : Math.addExact(Math.multiplyExact(seconds, NANOS), instant.getNano());
  }
}
