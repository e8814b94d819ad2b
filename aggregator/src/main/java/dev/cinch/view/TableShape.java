package dev.cinch.view;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.Id;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a table has. Immutable.
 *
 * @param columns out of payloads, beside those that every table has
 * @param key where in a payload the key stands, like {@code $.key}: the table has the last message
 *     of each key; null: it has all messages
 */
public record TableShape(List<TableColumn> columns, @Nullable String key) {
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

  private static final String COLUMNS = "cinch.columns";
  private static final String KEY = "cinch.latestBy";

  /**
   * @throws IllegalArgumentException if the key is no place in JSON; the message is for the user
   */
  public TableShape {
    columns = List.copyOf(columns);
    if (key != null && !key.matches(TableColumn.PATH)) {
      throw new IllegalArgumentException("a key stands at a place like $.key, not \"" + key + '"');
    }
  }

  /** What Delta Lake says of such a table. */
  ObjectNode metadata(Id log, long now) {
    ObjectNode schema = JsonNodeFactory.instance.objectNode().put("type", "struct");
    ArrayNode fields = schema.putArray("fields");
    for (String column : ALWAYS) {
      field(fields, column.split(" ")[0], column.split(" ")[1]);
    }
    if (key != null) {
      field(fields, "key", "string");
    }
    for (TableColumn column : columns) {
      field(fields, column.name(), column.type());
    }
    ObjectNode metadata = JsonNodeFactory.instance.objectNode();
    String id = log.toString(); // as a UUID is written
    metadata.put("id", id.replaceFirst("(.{8})(.{4})(.{4})(.{4})(.{12})", "$1-$2-$3-$4-$5"));
    metadata.putObject("format").put("provider", "parquet").putObject("options");
    metadata.put("schemaString", schema.toString()).putArray("partitionColumns");
    ObjectNode settings = metadata.putObject("configuration");
    settings.put(COLUMNS, String.join(" ", columns.stream().map(TableColumn::toString).toList()));
    if (key != null) {
      settings.put(KEY, key);
    }
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

  /**
   * The shape that such a description names.
   *
   * @throws IllegalArgumentException if it names none that is ours
   */
  static TableShape of(JsonNode metadata) {
    JsonNode settings = metadata.path("configuration");
    var columns = new ArrayList<TableColumn>();
    for (String text : settings.path(COLUMNS).asText().split(" ")) {
      if (!text.isEmpty()) {
        columns.add(TableColumn.parse(text));
      }
    }
    return new TableShape(columns, settings.path(KEY).textValue());
  }

  @Override
  public String toString() {
    return (key == null ? "" : "--latest-by " + key + " ")
        + (columns.isEmpty()
            ? "no columns of its own"
            : "--column " + String.join(" --column ", columns.stream().map(c -> c + "").toList()));
  }
}
