package dev.cinch.cli.base;

import java.util.ArrayList;
import java.util.List;

/** Columns as wide as what is in them, for people. Not thread-safe. */
public final class Table {
  private final int[] widths;
  private final int left;

  /**
   * @param columns of each row
   * @param left how many of them stand to the left; the others are numbers
   */
  public Table(int columns, int left) {
    this.widths = new int[columns];
    this.left = left;
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
        text.append(i < left ? row.get(i) + pad : pad + row.get(i)).append("  ");
      }
      lines.add(text.toString().stripTrailing());
    }
    return lines;
  }
}
