package dev.cinch.cli;

import dev.cinch.lease.OneLine;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/** Writes JSON straight into an {@link Output}: a million small objects a second. */
final class JsonText {
  private static final byte[] HEX = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

  // The first bytes, in UTF-8, of all characters above U+007F that OneLine.isHidden.
  private static final byte C1 = (byte) 0xC2;
  private static final byte ARABIC = (byte) 0xD8;
  private static final byte PUNCTUATION = (byte) 0xE2;

  private JsonText() {}

  /** A payload as a field: text if it is UTF-8, else base64 under another name. */
  static void payload(Output out, byte[] bytes) throws IOException {
    if (isUtf8(bytes)) {
      out.text("\"payload\":");
      string(out, bytes);
    } else {
      out.text("\"payloadBase64\":\"");
      out.write(Base64.getEncoder().encode(bytes));
      out.write('"');
    }
  }

  /** Text in quotes. */
  static void string(Output out, String text) throws IOException {
    string(out, text.getBytes(StandardCharsets.UTF_8));
  }

  /** Valid UTF-8 in quotes; what JSON must not hold as it is, and what hides in text, escaped. */
  private static void string(Output out, byte[] utf8) throws IOException {
    out.write('"');
    int from = 0;
    for (int i = 0; i < utf8.length; i++) {
      byte b = utf8[i];
      if ((b >= 0 && b < 0x20) || b == '"' || b == '\\' || b == 0x7f) {
        out.write(utf8, from, i - from);
        from = i + 1;
        escape(out, b);
      } else if (b == C1 || b == ARABIC || b == PUNCTUATION) {
        int length = b == PUNCTUATION ? 3 : 2;
        int c = codePoint(utf8, i, length);
        if (OneLine.isHidden(c)) {
          out.write(utf8, from, i - from);
          from = i + length;
          hexadecimal(out, c);
        }
        i += length - 1;
      }
    }
    out.write(utf8, from, utf8.length - from);
    out.write('"');
  }

  private static int codePoint(byte[] utf8, int at, int length) {
    int second = utf8[at + 1] & 0x3f;
    return length == 2
        ? (utf8[at] & 0x1f) << 6 | second
        : (utf8[at] & 0x0f) << 12 | second << 6 | utf8[at + 2] & 0x3f;
  }

  private static void escape(Output out, byte b) throws IOException {
    switch (b) {
      case '"', '\\' -> pair(out, b);
      case '\n' -> pair(out, 'n');
      case '\r' -> pair(out, 'r');
      case '\t' -> pair(out, 't');
      default -> hexadecimal(out, b);
    }
  }

  private static void pair(Output out, int c) throws IOException {
    out.write('\\');
    out.write(c);
  }

  private static void hexadecimal(Output out, int c) throws IOException {
    out.text("\\u");
    for (int shift = 12; shift >= 0; shift -= 4) {
      out.write(HEX[c >> shift & 15]);
    }
  }

  /** Whether bytes are UTF-8 as Unicode defines it: no overlong form, no surrogate. */
  static boolean isUtf8(byte[] b) {
    int i = 0;
    while (i < b.length) {
      int c = b[i++];
      if (c >= 0) {
        continue;
      }
      int more;
      int low = 0x80;
      int high = 0xBF;
      c &= 0xff;
      if (c >= 0xC2 && c <= 0xDF) {
        more = 1;
      } else if (c >= 0xE0 && c <= 0xEF) {
        more = 2;
        low = c == 0xE0 ? 0xA0 : low;
        high = c == 0xED ? 0x9F : high;
      } else if (c >= 0xF0 && c <= 0xF4) {
        more = 3;
        low = c == 0xF0 ? 0x90 : low;
        high = c == 0xF4 ? 0x8F : high;
      } else {
        return false;
      }
      for (int k = 0; k < more; k++, i++) {
        int next = i < b.length ? b[i] & 0xff : 0;
        if (next < low || next > high) {
          return false;
        }
        low = 0x80;
        high = 0xBF;
      }
    }
    return true;
  }
}
