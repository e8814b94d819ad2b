package dev.cinch.cli;

import java.util.Collection;
import java.util.Optional;

/** What somebody may have meant who mistyped a name. */
final class Nearest {
  private Nearest() {}

  /**
   * The candidate that differs in the fewest characters, of those that differ in few: one in a name
   * of up to five, two in a longer one. Two neighbours that changed places count as one.
   */
  static Optional<String> to(String typed, Collection<String> candidates) {
    int least = typed.length() > 5 ? 3 : 2;
    String nearest = null;
    for (String candidate : candidates) {
      int distance = distance(typed, candidate);
      if (distance < least) {
        least = distance;
        nearest = candidate;
      }
    }
    return Optional.ofNullable(nearest);
  }

  /** Insertions, deletions, replacements and swaps of neighbours that make one of the other. */
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
