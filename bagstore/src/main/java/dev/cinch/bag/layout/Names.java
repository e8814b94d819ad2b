package dev.cinch.bag.layout;

import dev.cinch.lease.OneLine;
import java.util.regex.Pattern;

/** What names of logs and machines have in common. */
final class Names {
  private Names() {}

  static void check(String what, String value, Pattern allowed) {
    if (!allowed.matcher(value).matches() || LogLayout.isTemporary(value)) {
      throw new IllegalArgumentException(
          "not a %s: \"%s\" (%d characters); it has 1 to 63 of a-z 0-9 . _ - and begins with a letter or digit, and not with tmp-"
              .formatted(what, OneLine.of(value, 40), value.length()));
    }
  }
}
