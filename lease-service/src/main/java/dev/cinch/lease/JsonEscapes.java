package dev.cinch.lease;

import com.fasterxml.jackson.core.SerializableString;
import com.fasterxml.jackson.core.io.CharacterEscapes;
import com.fasterxml.jackson.core.io.SerializedString;
import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.Nullable;

/**
 * Escapes in JSON, besides what JSON itself asks for, what {@link OneLine#isHidden}: whoever looks
 * at the text then sees all that is in it, in its order. Thread-safe.
 */
@CheckReturnValue
public final class JsonEscapes extends CharacterEscapes {
  public static final JsonEscapes INSTANCE = new JsonEscapes();

  private static final long serialVersionUID = 1;

  private JsonEscapes() {}

  @Override
  public int[] getEscapeCodesForAscii() {
    int[] codes = standardAsciiEscapesForJSON();
    for (int c = 0; c < codes.length; c++) {
      if (codes[c] == ESCAPE_STANDARD || c == 0x7F) {
        codes[c] = ESCAPE_CUSTOM; // in small letters, like all others
      }
    }
    return codes;
  }

  @Override
  public @Nullable SerializableString getEscapeSequence(int c) {
    return OneLine.isHidden(c) ? new SerializedString("\\u%04x".formatted(c)) : null;
  }
}
