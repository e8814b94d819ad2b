package dev.cinch.bag.model;

import dev.cinch.lease.OneLine;
import java.util.regex.Pattern;

/** What the names of logs, machines and files have in common. */
public final class Names {
  /**
   * Names that begin so are nobody's data: entries made to freshen a listing, files that wait to be
   * linked.
   */
  public static final String TEMPORARY_PREFIX = "tmp-";

  private Names() {}

  /** Whether a name is nobody's data. */
  public static boolean isTemporary(String name) {
    return name.startsWith(TEMPORARY_PREFIX);
  }

  static void check(String what, String value, Pattern allowed) {
    if (!allowed.matcher(value).matches() || isTemporary(value)) {
      throw new IllegalArgumentException(
          "not a %s: \"%s\" (%d characters); it has 1 to 63 of a-z 0-9 . _ - and begins with a letter or digit, and not with tmp-"
              .formatted(what, OneLine.of(value, 40), value.length()));
    }
  }
}
