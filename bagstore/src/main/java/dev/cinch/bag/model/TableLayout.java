package dev.cinch.bag.model;

import dev.cinch.lease.Id;
import java.util.OptionalLong;
import java.util.regex.Pattern;

/**
 * The names in a table that other engines read: a directory of Delta Lake.
 *
 * @param root the table's directory
 */
public record TableLayout(Name root) {
  private static final int DIGITS = 20;
  private static final String COMMIT = ".json";
  private static final String PARQUET = ".parquet";
  private static final Pattern FILE = Pattern.compile("[0-9]{20}-[0-9a-f]{32}[.]parquet");

  public Name commits() {
    return root.resolve("_delta_log");
  }

  public Name commit(long version) {
    return commits().resolve(Numbered.padded(version, DIGITS) + COMMIT);
  }

  /** The version of a commit; empty for a name of another kind. */
  public static OptionalLong commitVersion(String name) {
    return name.endsWith(COMMIT)
        ? Numbered.parse(name.substring(0, name.length() - COMMIT.length()), DIGITS)
        : OptionalLong.empty();
  }

  /**
   * A file of the table.
   *
   * @param version of a commit; no later one names the file
   */
  public Name file(long version, Id maker) {
    return root.resolve(Numbered.padded(version, DIGITS) + "-" + maker + PARQUET);
  }

  /** The version of the last commit that may name a file; empty for a name of another kind. */
  public static OptionalLong fileVersion(String name) {
    return FILE.matcher(name).matches()
        ? Numbered.parse(name.substring(0, DIGITS), DIGITS)
        : OptionalLong.empty();
  }
}
