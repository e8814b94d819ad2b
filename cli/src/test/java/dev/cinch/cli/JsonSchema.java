package dev.cinch.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * Holds JSON against {@code docs/cinch.schema.json}: what of JSON Schema that uses, and stricter in
 * one thing: a field that the schema does not name is wrong.
 */
public final class JsonSchema {
  private static final Set<String> KNOWN =
      Set.of(
          "$ref",
          "type",
          "const",
          "enum",
          "pattern",
          "minimum",
          "properties",
          "required",
          "items",
          "oneOf",
          "description");

  private final JsonNode root;

  public JsonSchema(Path file) throws IOException {
    root = new ObjectMapper().readTree(file.toFile());
  }

  /** The commands that it describes, by their whole names. */
  Set<String> commands() {
    var names = new TreeSet<String>();
    root.get("$defs").fieldNames().forEachRemaining(names::add);
    names.removeIf(name -> !name.startsWith("cinch "));
    return names;
  }

  /** What is wrong with a line of a command; empty if nothing is. */
  public List<String> wrong(String command, JsonNode line) {
    JsonNode schema = root.get("$defs").get(command);
    return schema == null ? List.of("no schema for " + command) : check(schema, line, "line");
  }

  private List<String> check(JsonNode schema, JsonNode value, String at) {
    var wrong = new ArrayList<String>();
    schema
        .fieldNames()
        .forEachRemaining(
            keyword -> {
              if (!KNOWN.contains(keyword)) {
                wrong.add("the validator does not know " + keyword);
              }
            });
    if (schema.has("$ref")) {
      String name = schema.get("$ref").textValue().replace("#/$defs/", "").replace("%20", " ");
      return check(root.get("$defs").get(name), value, at);
    }
    if (schema.has("oneOf")) {
      checkOneOf(schema.get("oneOf"), value, at, wrong);
    }
    if (schema.has("const") && !schema.get("const").equals(value)) {
      wrong.add(at + " is not " + schema.get("const"));
    }
    if (schema.has("enum") && !contains(schema.get("enum"), value)) {
      wrong.add(at + " is none of " + schema.get("enum") + ": " + value);
    }
    if (schema.has("type") && !isOf(schema.get("type").textValue(), value)) {
      wrong.add(at + " is no " + schema.get("type").textValue() + ": " + value);
      return wrong;
    }
    if (schema.has("pattern")
        && !Pattern.matches(schema.get("pattern").textValue(), value.textValue())) {
      wrong.add(at + " does not look like " + schema.get("pattern") + ": " + value);
    }
    if (schema.has("minimum") && value.longValue() < schema.get("minimum").longValue()) {
      wrong.add(at + " is too small: " + value);
    }
    if (schema.has("items")) {
      for (int i = 0; i < value.size(); i++) {
        wrong.addAll(check(schema.get("items"), value.get(i), at + "[" + i + "]"));
      }
    }
    if (schema.has("properties")) {
      checkFields(schema, value, at, wrong);
    }
    return wrong;
  }

  private void checkOneOf(JsonNode choices, JsonNode value, String at, List<String> wrong) {
    int fitting = 0;
    var reasons = new ArrayList<String>();
    for (JsonNode choice : choices) {
      List<String> found = check(choice, value, at);
      fitting += found.isEmpty() ? 1 : 0;
      reasons.add(String.join(", ", found));
    }
    if (fitting != 1) {
      wrong.add(at + " fits " + fitting + " of the choices: " + String.join("; or ", reasons));
    }
  }

  private void checkFields(JsonNode schema, JsonNode value, String at, List<String> wrong) {
    for (JsonNode name : schema.get("required")) {
      if (!value.has(name.textValue())) {
        wrong.add(at + " lacks " + name.textValue());
      }
    }
    for (var field : value.properties()) {
      JsonNode known = schema.get("properties").get(field.getKey());
      if (known == null) {
        wrong.add(at + " has the unknown field " + field.getKey());
      } else {
        wrong.addAll(check(known, field.getValue(), at + "." + field.getKey()));
      }
    }
  }

  private static boolean contains(JsonNode choices, JsonNode value) {
    for (JsonNode choice : choices) {
      if (choice.equals(value)) {
        return true;
      }
    }
    return false;
  }

  private static boolean isOf(String type, JsonNode value) {
    return switch (type) {
      case "object" -> value.isObject();
      case "array" -> value.isArray();
      case "string" -> value.isTextual();
      case "integer" -> value.isIntegralNumber();
      case "number" -> value.isNumber();
      case "boolean" -> value.isBoolean();
      default -> false;
    };
  }
}
