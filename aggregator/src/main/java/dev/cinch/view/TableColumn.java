package dev.cinch.view;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.Id;
import java.util.ArrayList;
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

  /** The columns of every table, and their types in Delta Lake. */
  private static final List<String> ALWAYS =
      List.of(
          "time timestamp",
          "time_ns long",
          "tie long",
          "machine string",
          "leases array",
          "generation long",
          "payload string",
          "bytes binary");

  private static final Pattern SHAPE =
      Pattern.compile("([a-z][a-z0-9_]{0,62})=([$][^:\"'\\\\\\s]{0,500}):([a-z]+)");

  private static final Set<String> TAKEN =
      Set.of("time", "time_ns", "tie", "machine", "leases", "generation", "payload", "bytes");

  private static final String SETTING = "cinch.columns";

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

  /** The description of a table with these columns, too. */
  static ObjectNode metadata(List<TableColumn> columns, Id log, long now) {
    ObjectNode schema = JsonNodeFactory.instance.objectNode().put("type", "struct");
    ArrayNode fields = schema.putArray("fields");
    for (String column : ALWAYS) {
      field(fields, column.split(" ")[0], column.split(" ")[1]);
    }
    for (TableColumn column : columns) {
      field(fields, column.name(), column.type());
    }
    ObjectNode metadata = JsonNodeFactory.instance.objectNode();
    String id = log.toString(); // as a UUID is written
    metadata.put("id", id.replaceFirst("(.{8})(.{4})(.{4})(.{4})(.{12})", "$1-$2-$3-$4-$5"));
    metadata.putObject("format").put("provider", "parquet").putObject("options");
    metadata.put("schemaString", schema.toString()).putArray("partitionColumns");
    metadata
        .putObject("configuration")
        .put(SETTING, String.join(" ", columns.stream().map(TableColumn::toString).toList()));
    return metadata.put("createdTime", now);
  }

  private static void field(ArrayNode fields, String name, String type) {
    ObjectNode field = fields.addObject().put("name", name);
    if (type.equals("array")) {
      field
          .putObject("type")
          .put("type", "array")
          .put("elementType", "string")
          .put("containsNull", true);
    } else {
      field.put("type", type);
    }
    field.put("nullable", true).putObject("metadata");
  }

  /** The columns that such a description names. */
  static List<TableColumn> ofMetadata(JsonNode metadata) {
    var columns = new ArrayList<TableColumn>();
    for (String text : metadata.path("configuration").path(SETTING).asText().split(" ")) {
      if (!text.isEmpty()) {
        columns.add(parse(text));
      }
    }
    return columns;
  }
}
