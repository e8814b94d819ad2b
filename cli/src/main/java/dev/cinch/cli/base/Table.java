package dev.cinch.cli.base;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Columns as wide as what is in them, for people. Not thread-safe. */
public final class Table {
  private final int[] widths;
  private final boolean[] right;

  /**
   * @param columns of each row
   * @param left how many of them stand to the left; the others are numbers
   */
  public Table(int columns, int left) {
    this(new boolean[columns]);
    Arrays.fill(right, left, columns, true);
  }

  /**
   * @param right of each column whether it stands to the right, as numbers do
   */
  public Table(boolean[] right) {
    this.widths = new int[right.length];
    this.right = right;
  }

  /** Rows as lines, no narrower than those that were laid out before. */
  public List<String> lines(List<List<String>> rows) {
    for (List<String> row : rows) {
      for (int i = 0; i < widths.length; i++) {
        widths[i] = Math.max(widths[i], row.get(i).length());
      }
    }
    var lines = new ArrayList<String>();
    for (List<String> row : rows) {
      var text = new StringBuilder();
      for (int i = 0; i < widths.length; i++) {
        String pad = " ".repeat(widths[i] - row.get(i).length());
        text.append(right[i] ? pad + row.get(i) : row.get(i) + pad).append("  ");
      }
      lines.add(text.toString().stripTrailing());
    }
    return lines;
  }
}
