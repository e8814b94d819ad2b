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

  /**
   * Whether a character may hide or reorder what is shown with it: controls (of Unicode, also
   * U+0080 to U+009F), the ends of lines U+2028 and U+2029, and the marks that turn the direction
   * of text. JSON for people escapes them, and names of holders may not contain them.
   */
  public static boolean isHidden(int c) {
    return c < 0x20
        || (c >= 0x7F && c <= 0x9F)
        || c == 0x061C
        || c == 0x200E
        || c == 0x200F
        || (c >= 0x2028 && c <= 0x202E)
        || (c >= 0x2066 && c <= 0x2069);
  }

  /**
   * Refuses text that is shown to people and has a character that {@link #isHidden}.
   *
   * @param what for the message, like {@code "the holder"}
   * @throws IllegalArgumentException one line that says which character, and where
   */
  public static void check(String what, String text) {
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i); // none of them takes two
      if (isHidden(c)) {
        throw new IllegalArgumentException(
            ("%s has U+%04X at character %d; controls, line ends and marks that turn the direction"
                    + " of text can't be shown")
                .formatted(what, (int) c, i));
      }
    }
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
