package dev.cinch.cli.read;

import dev.cinch.cli.base.Misuse;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Tells statements apart: a semicolon ends one, outside of quotes and comments. */
final class Statements {
  private static final Pattern DOLLARS = Pattern.compile("\\$([A-Za-z_]\\w*)?\\$");

  private Statements() {}

  /**
   * Those of a text.
   *
   * @return what each semicolon ends, and what follows the last one; any of them may be blank
   */
  static List<String> of(String text) {
    var all = new ArrayList<String>();
    int begun = 0;
    int i = 0;
    while (i < text.length()) {
      int next = end(text, i);
      if (text.charAt(i) == ';') {
        all.add(text.substring(begun, i));
        begun = next;
      }
      i = next;
    }
    all.add(text.substring(begun));
    return all;
  }

  /**
   * The only statement of a text.
   *
   * @throws Misuse if there are more, or none
   */
  static String one(String text) {
    List<String> all = of(text).stream().filter(s -> !s.isBlank()).toList();
    if (all.size() != 1) {
      throw new Misuse("name one statement, not " + all.size());
    }
    return all.get(0);
  }

  /** The end of what begins there: something quoted, a comment, or a single character. */
  private static int end(String text, int at) {
    char c = text.charAt(at);
    boolean escapes =
        at > 0
            && Character.toLowerCase(text.charAt(at - 1)) == 'e'
            && (at == 1 || !Character.isJavaIdentifierPart(text.charAt(at - 2)));
    if (c == '\'' && escapes) {
      return escaped(text, at + 1);
    }
    if (c == '\'' || c == '"') {
      return behind(text, "" + c, at + 1); // what is doubled begins again
    }
    if (text.startsWith("--", at)) {
      return behind(text, "\n", at);
    }
    if (text.startsWith("/*", at)) {
      return comment(text, at + 2);
    }
    Matcher dollars = DOLLARS.matcher(text).region(at, text.length());
    if (c == '$' && dollars.lookingAt()) {
      return behind(text, dollars.group(), dollars.end());
    }
    return at + 1;
  }

  private static int behind(String text, String end, int from) {
    int at = text.indexOf(end, from);
    return at < 0 ? text.length() : at + end.length();
  }

  private static int escaped(String text, int from) {
    int i = from;
    while (i < text.length() && text.charAt(i) != '\'') {
      i += text.charAt(i) == '\\' ? 2 : 1;
    }
    return Math.min(i + 1, text.length());
  }

  /** Comments may hold others. */
  private static int comment(String text, int from) {
    int depth = 1;
    int i = from;
    while (i < text.length() && depth > 0) {
      boolean begins = text.startsWith("/*", i);
      boolean ends = text.startsWith("*/", i);
      depth += begins ? 1 : ends ? -1 : 0;
      i += begins || ends ? 2 : 1;
    }
    return i;
  }
}
