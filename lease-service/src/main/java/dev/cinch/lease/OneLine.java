package dev.cinch.lease;

import com.google.errorprone.annotations.CheckReturnValue;

/** Makes text that comes from elsewhere fit for a message, which is one line for a person. */
@CheckReturnValue
public final class OneLine {
  private OneLine() {}

  /**
   * The text with {@code ?} for characters that {@link #fits} refuses, cut where it is longer than
   * {@code most} characters.
   */
  public static String of(String text, int most) {
    String some = text.length() <= most ? text : text.substring(0, most);
    var line = new StringBuilder(some.length() + 1);
    some.codePoints().map(c -> isShown(c) ? c : '?').forEach(line::appendCodePoint);
    return some.length() < text.length() ? line.append('…').toString() : line.toString();
  }

  /**
   * Whether text is one line that a terminal shows in its order: without control characters (of
   * Unicode, also U+0080 to U+009F), ends of lines, marks that turn its direction or can't be seen,
   * and halves of surrogate pairs.
   */
  public static boolean fits(String text) {
    return text.codePoints().allMatch(OneLine::isShown);
  }

  private static boolean isShown(int c) {
    return switch (Character.getType(c)) {
      case Character.CONTROL,
          Character.FORMAT,
          Character.SURROGATE,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR ->
          false;
      default -> true;
    };
  }
}
