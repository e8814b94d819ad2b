package dev.cinch.bag.layout;

import java.util.OptionalLong;
import java.util.regex.Pattern;

/** A number as a file name: ten decimal digits, so that text order is number order. */
public final class Numbered {
  /** The highest number that has a name. */
  public static final long MAX = 9_999_999_999L;

  private static final Pattern SHAPE = Pattern.compile("\\d{10}");

  private Numbered() {}

  /**
   * @throws IllegalArgumentException for a number below 1 or above {@link #MAX}
   */
  public static String name(long number) {
    if (number < 1 || number > MAX) {
      throw new IllegalArgumentException("no file is numbered " + number);
    }
    return String.format("%010d", number);
  }

  /** The number that a name stands for; empty for a name of another kind. */
  public static OptionalLong parse(String name) {
    return SHAPE.matcher(name).matches()
        ? OptionalLong.of(Long.parseLong(name))
        : OptionalLong.empty();
  }
}
