package dev.cinch.cli.base;

import java.util.Collection;
import java.util.Comparator;
import java.util.Optional;

/** Which command or option a mistyped one may stand for. Pure. */
public final class Nearest {
  private Nearest() {}

  /** The one that differs in the fewest characters, and in few. */
  public static Optional<String> to(String typed, Collection<String> candidates) {
    return candidates.stream()
        .filter(candidate -> distance(typed, candidate) <= (typed.length() > 5 ? 2 : 1))
        .min(Comparator.comparingInt(candidate -> distance(typed, candidate)));
  }

  /** Letters put in, left out, replaced, or swapped with their neighbour. */
  private static int distance(String a, String b) {
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
