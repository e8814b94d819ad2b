package dev.cinch.cli.base;

import dev.cinch.bag.model.LogName;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** What somebody may have meant who mistyped a name. Pure. */
public final class Nearest {
  private static final Pattern DIGITS = Pattern.compile("\\d+");
  private static final Pattern SEPARATOR = Pattern.compile("[-_.]+");

  /** The shortest word of which something was left out, doubled or swapped. */
  private static final int SHORT = 3;

  /** The shortest word in which two slips are few. */
  private static final int LONG = 8;

  private Nearest() {}

  /** Of commands or options, the one that differs in the fewest characters, and in few. */
  public static Optional<String> to(String typed, Collection<String> candidates) {
    return candidates.stream()
        .filter(candidate -> distance(typed, candidate) <= (typed.length() > 5 ? 2 : 1))
        .min(Comparator.comparingInt(candidate -> distance(typed, candidate)));
  }

  /** The logs that are nearly called the same as one that is not among them, in their order. */
  static List<LogName> logs(LogName name, Collection<LogName> known) {
    return known.stream().filter(k -> isNear(name.value(), k.value())).toList();
  }

  /**
   * Whether one name of a log is a slip for another: a letter left out, doubled, swapped or wrong,
   * {@code -} for {@code _}.
   *
   * <p>People number things, and give them one-letter words: {@code job-1} and {@code job-2},
   * {@code shard-a} and {@code shard-b} are as near as a slip, and meant. So names with other
   * digits are never near, nor are words of one or two letters, or of three with another letter.
   */
  static boolean isNear(String a, String b) {
    if (!digits(a).equals(digits(b))) {
      return false;
    }
    String together = SEPARATOR.matcher(a).replaceAll("");
    String others = SEPARATOR.matcher(b).replaceAll("");
    if (together.equals(others)) {
      return true;
    }
    String[] words = SEPARATOR.split(a, -1);
    String[] theirs = SEPARATOR.split(b, -1);
    if (words.length != theirs.length) {
      return isSlip(together, others);
    }
    for (int i = 0; i < words.length; i++) {
      if (!words[i].equals(theirs[i]) && !isSlip(words[i], theirs[i])) {
        return false;
      }
    }
    return true;
  }

  private static List<String> digits(String name) {
    return DIGITS.matcher(name).results().map(MatchResult::group).toList();
  }

  private static boolean isSlip(String a, String b) {
    int length = Math.max(a.length(), b.length());
    if (length < SHORT || (length == SHORT && a.length() == b.length() && !isSwapped(a, b))) {
      return false;
    }
    boolean begins = !a.isEmpty() && !b.isEmpty() && a.charAt(0) == b.charAt(0);
    return distance(a, b) <= (length >= LONG && begins ? 2 : 1);
  }

  private static boolean isSwapped(String a, String b) {
    return a.chars().sorted().boxed().toList().equals(b.chars().sorted().boxed().toList());
  }

  /** Letters put in, left out, replaced, or swapped with their neighbour. */
  static int distance(String a, String b) {
    int[][] d = new int[a.length() + 1][b.length() + 1];
    for (int i = 0; i <= a.length(); i++) {
      for (int j = 0; j <= b.length(); j++) {
        if (i == 0 || j == 0) {
          d[i][j] = i + j;
          continue;
        }
        int replaced = d[i - 1][j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        d[i][j] = Math.min(replaced, 1 + Math.min(d[i - 1][j], d[i][j - 1]));
        boolean swapped =
            i > 1
                && j > 1
                && a.charAt(i - 1) == b.charAt(j - 2)
                && a.charAt(i - 2) == b.charAt(j - 1);
        if (swapped) {
          d[i][j] = Math.min(d[i][j], 1 + d[i - 2][j - 2]);
        }
      }
    }
    return d[a.length()][b.length()];
  }
}
