package dev.cinch.view;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A column that a table takes out of payloads in JSON. Where a payload is none, or has there what
 * is not of that type, it is null.
 *
 * @param name of the column: small letters, digits and {@code _}
 * @param path in the JSON, as {@code $.price}
 * @param type one of {@link #TYPES}
 */
public record TableColumn(String name, String path, String type) {
  /** What a column may be: in a command line, and in SQL. */
  static final Map<String, String> TYPES =
      Map.of(
          "string", "VARCHAR",
          "long", "BIGINT",
          "double", "DOUBLE",
          "boolean", "BOOLEAN",
          "timestamp", "TIMESTAMPTZ");

  /** A place in JSON; nothing in it ends a text of SQL. */
  static final String PATH = "[$][^:\"'\\\\\\s]{0,500}";

  private static final Pattern SHAPE =
      Pattern.compile("([a-z][a-z0-9_]{0,62})=(" + PATH + "):([a-z]+)");

  private static final Set<String> TAKEN =
      Set.of(
          "time", "time_ns", "tie", "machine", "leases", "generation", "payload", "bytes", "key");

  /**
   * As {@code price=$.price:double}.
   *
   * @throws IllegalArgumentException if it is not of that shape; the message is for the user
   */
  public static TableColumn parse(String text) {
    Matcher m = SHAPE.matcher(text);
    if (!m.matches() || !TYPES.containsKey(m.group(3))) {
      throw new IllegalArgumentException(
          "not a column: \"%s\"; it is like price=$.price:double, of type %s"
              .formatted(text, String.join(", ", TYPES.keySet().stream().sorted().toList())));
    }
    if (TAKEN.contains(m.group(1))) {
      throw new IllegalArgumentException("each table has a column " + m.group(1) + " already");
    }
    return new TableColumn(m.group(1), m.group(2), m.group(3));
  }

  /** What is there as text. */
  String text() {
    return "payload ->> '" + path + "'";
  }

  /** The column in SQL. */
  String sql() {
    return "TRY_CAST(%s AS %s)".formatted(text(), TYPES.get(type));
  }

  /** Columns as SQL defines them behind others, each behind a comma. */
  public static String definitions(List<TableColumn> columns) {
    var text = new StringBuilder();
    for (TableColumn column : columns) {
      text.append(", %s AS \"%s\"".formatted(column.sql(), column.name()));
    }
    return text.toString();
  }

  @Override
  public String toString() {
    return name + "=" + path + ":" + type;
  }
}
