package dev.cinch.bag.model;

import java.util.Optional;

/**
 * The name of a record's seal: an empty file beside a numbered one that says which bytes that one
 * holds, so that it can neither be altered nor vanish unnoticed before a later file names its
 * digest.
 *
 * @param number of the file that it is of
 * @param digest SHA-256 of that file, 64 lower-case hexadecimal digits
 */
public record SealName(long number, String digest) {
  private static final int DIGITS = 64;

  /** The seal that a name is of; empty for a name of another kind. */
  public static Optional<SealName> parse(String name) {
    int dot = name.indexOf('.');
    if (dot < 0) {
      return Optional.empty();
    }
    long number = Numbered.parse(name.substring(0, dot)).orElse(0);
    String digest = name.substring(dot + 1);
    return number > 0 && isDigest(digest)
        ? Optional.of(new SealName(number, digest))
        : Optional.empty();
  }

  /** Whether a text is one. Written out because listings of records are full of them. */
  static boolean isDigest(String text) {
    if (text.length() != DIGITS) {
      return false;
    }
    for (int i = 0; i < DIGITS; i++) {
      if (!isHexadecimal(text.charAt(i))) {
        return false;
      }
    }
    return true;
  }

  private static boolean isHexadecimal(int c) {
    return c >= '0' && c <= '9' || c >= 'a' && c <= 'f';
  }

  @Override
  public String toString() {
    return Numbered.name(number) + "." + digest;
  }
}
