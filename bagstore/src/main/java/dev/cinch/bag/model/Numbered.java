package dev.cinch.bag.model;

import java.util.OptionalLong;

/** A number as a file name: ten decimal digits, so that text order is number order. */
public final class Numbered {
  /** The highest number that has a name. */
  public static final long MAX = 9_999_999_999L;

  private static final int DIGITS = 10;

  private Numbered() {}

  /**
   * @throws IllegalArgumentException for a number below 1 or above {@link #MAX}
   */
  public static String name(long number) {
    if (number < 1 || number > MAX) {
      throw new IllegalArgumentException("no file is numbered " + number);
    }
    return padded(number, DIGITS);
  }

  /** The number that a name stands for; empty for a name of another kind. */
  public static OptionalLong parse(String name) {
    OptionalLong number = parse(name, DIGITS);
    return number.orElse(0) < 1 ? OptionalLong.empty() : number; // there is no file of number 0
  }

  /** Decimal digits with leading zeros. Written out because listings and paths are full of them. */
  public static String padded(long number, int digits) {
    var text = new char[digits];
    long rest = number;
    for (int i = digits - 1; i >= 0; i--) {
      text[i] = (char) ('0' + rest % 10);
      rest /= 10;
    }
    return new String(text);
  }

  /** The number that exactly so many decimal digits stand for; empty for anything else. */
  public static OptionalLong parse(String name, int digits) {
    if (name.length() != digits) {
      return OptionalLong.empty();
    }
    long number = 0;
    for (int i = 0; i < digits; i++) {
      int digit = name.charAt(i) - '0';
      if (digit < 0 || digit > 9) {
        return OptionalLong.empty();
      }
      number = number * 10 + digit;
    }
    return OptionalLong.of(number);
  }
}
