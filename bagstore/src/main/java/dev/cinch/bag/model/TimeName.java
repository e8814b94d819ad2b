package dev.cinch.bag.model;

import java.time.DateTimeException;
import java.time.LocalDate;
import java.util.OptionalLong;

/**
 * A time as a file name: {@code 20261121T040225.000Z}, UTC, to the millisecond; text order is time
 * order.
 *
 * <p>Bucket widths are whole milliseconds, so every boundary has an exact name.
 */
public final class TimeName {
  private static final String SHAPE = "ddddddddTdddddd.dddZ";
  private static final long NANOS_PER_MILLI = 1_000_000;
  private static final long MILLIS_PER_DAY = 86_400_000;

  private TimeName() {}

  /**
   * @throws IllegalArgumentException for a time that is no whole millisecond
   */
  public static String of(long nanos) {
    if (Math.floorMod(nanos, NANOS_PER_MILLI) != 0) {
      throw new IllegalArgumentException(nanos + " ns is no whole millisecond");
    }
    long millis = Math.floorDiv(nanos, NANOS_PER_MILLI);
    LocalDate day = LocalDate.ofEpochDay(Math.floorDiv(millis, MILLIS_PER_DAY));
    int ofDay = (int) Math.floorMod(millis, MILLIS_PER_DAY);
    // A long's nanoseconds reach from 1677 to 2262, so that four digits hold every year.
    long date = (day.getYear() * 100L + day.getMonthValue()) * 100 + day.getDayOfMonth();
    int seconds = ofDay / 1_000;
    int clock = (seconds / 3_600 * 100 + seconds / 60 % 60) * 100 + seconds % 60;
    return Numbered.padded(date, 8)
        + "T"
        + Numbered.padded(clock, 6)
        + "."
        + Numbered.padded(ofDay % 1_000, 3)
        + "Z";
  }

  /** The time that a name stands for, in nanoseconds; empty for a name of another kind. */
  public static OptionalLong parse(String name) {
    if (!hasShape(name)) {
      return OptionalLong.empty();
    }
    int hour = number(name, 9, 2);
    int minute = number(name, 11, 2);
    int second = number(name, 13, 2);
    if (hour > 23 || minute > 59 || second > 59) {
      return OptionalLong.empty();
    }
    try {
      LocalDate day = LocalDate.of(number(name, 0, 4), number(name, 4, 2), number(name, 6, 2));
      long ofDay = ((hour * 60L + minute) * 60 + second) * 1_000 + number(name, 16, 3);
      long millis = day.toEpochDay() * MILLIS_PER_DAY + ofDay;
      return OptionalLong.of(Math.multiplyExact(millis, NANOS_PER_MILLI));
    } catch (DateTimeException | ArithmeticException e) {
      return OptionalLong.empty();
    }
  }

  private static boolean hasShape(String name) {
    if (name.length() != SHAPE.length()) {
      return false;
    }
    for (int i = 0; i < SHAPE.length(); i++) {
      char c = name.charAt(i);
      char wanted = SHAPE.charAt(i);
      if (wanted == 'd' ? c < '0' || c > '9' : c != wanted) {
        return false;
      }
    }
    return true;
  }

  private static int number(String name, int from, int digits) {
    int number = 0;
    for (int i = from; i < from + digits; i++) {
      number = number * 10 + (name.charAt(i) - '0');
    }
    return number;
  }
}
