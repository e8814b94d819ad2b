package dev.cinch.bag.layout;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.OptionalLong;
import java.util.regex.Pattern;

/**
 * A time as a file name: {@code 20261121T040225.000Z}, UTC, to the millisecond; text order is time
 * order.
 *
 * <p>Bucket widths are whole milliseconds, so every boundary has an exact name.
 */
public final class TimeName {
  private static final DateTimeFormatter FORMAT =
      DateTimeFormatter.ofPattern("uuuuMMdd'T'HHmmss.SSS'Z'");
  private static final Pattern SHAPE = Pattern.compile("\\d{8}T\\d{6}\\.\\d{3}Z");
  private static final long NANOS_PER_MILLI = 1_000_000;

  private TimeName() {}

  /**
   * @throws IllegalArgumentException for a time that is no whole millisecond
   */
  public static String of(long nanos) {
    if (Math.floorMod(nanos, NANOS_PER_MILLI) != 0) {
      throw new IllegalArgumentException(nanos + " ns is no whole millisecond");
    }
    Instant instant = Instant.ofEpochMilli(Math.floorDiv(nanos, NANOS_PER_MILLI));
    return FORMAT.format(instant.atOffset(ZoneOffset.UTC));
  }

  /** The time that a name stands for, in nanoseconds; empty for a name of another kind. */
  public static OptionalLong parse(String name) {
    if (!SHAPE.matcher(name).matches()) {
      return OptionalLong.empty();
    }
    try {
      long millis = LocalDateTime.parse(name, FORMAT).toInstant(ZoneOffset.UTC).toEpochMilli();
      return OptionalLong.of(Math.multiplyExact(millis, NANOS_PER_MILLI));
    } catch (DateTimeException | ArithmeticException e) {
      return OptionalLong.empty();
    }
  }
}
