package dev.cinch.lease;

import com.google.errorprone.annotations.CheckReturnValue;

/** Makes text that comes from elsewhere fit for a message, which is one line for a person. */
@CheckReturnValue
public final class OneLine {
  private OneLine() {}

  /**
   * The text with {@code ?} for control characters, ends of lines and halves of surrogate pairs,
   * cut where it is longer than {@code most} characters.
   */
  public static String of(String text, int most) {
    String some = text.length() <= most ? text : text.substring(0, most);
    var line = new StringBuilder(some.length() + 1);
    some.codePoints().map(c -> isShown(c) ? c : '?').forEach(line::appendCodePoint);
    return some.length() < text.length() ? line.append('…').toString() : line.toString();
  }

  private static boolean isShown(int c) {
    return switch (Character.getType(c)) {
      case Character.CONTROL,
          Character.SURROGATE,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR ->
          false;
      default -> true;
    };
  }
}
