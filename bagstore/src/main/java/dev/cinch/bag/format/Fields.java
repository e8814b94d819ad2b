package dev.cinch.bag.format;

import com.fasterxml.jackson.databind.JsonNode;
import dev.cinch.bag.model.Name;
import dev.cinch.lease.Id;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Strict access to the fields of a JSON object that was read from a file: what is missing or of
 * another kind is damage.
 */
public final class Fields {
  private static final Pattern HEX = Pattern.compile("[0-9a-f]*");

  private final JsonNode node;
  private final Name path;

  Fields(JsonNode node, Name path) throws DamagedException {
    if (!node.isObject()) {
      throw new DamagedException(path, 0, "a JSON object", node.getNodeType().toString());
    }
    this.node = node;
    this.path = path;
  }

  /** The file that the fields are from. */
  public Name path() {
    return path;
  }

  private JsonNode get(String name) throws DamagedException {
    JsonNode value = node.get(name);
    if (value == null) {
      throw new DamagedException(path, 0, "a field \"" + name + "\"", "none");
    }
    return value;
  }

  private DamagedException wrong(String name, String expected) {
    return new DamagedException(path, 0, expected + " in \"" + name + "\"", "" + node.get(name));
  }

  public boolean has(String name) {
    return node.hasNonNull(name);
  }

  public String text(String name) throws DamagedException {
    JsonNode value = get(name);
    if (!value.isTextual()) {
      throw wrong(name, "text");
    }
    return value.textValue();
  }

  public long number(String name) throws DamagedException {
    JsonNode value = get(name);
    if (!value.isIntegralNumber() || !value.canConvertToLong()) {
      throw wrong(name, "a 64-bit integer");
    }
    return value.longValue();
  }

  /** A number within bounds, both inclusive. */
  public long number(String name, long min, long max) throws DamagedException {
    long value = number(name);
    if (value < min || value > max) {
      throw wrong(name, "a number from " + min + " to " + max);
    }
    return value;
  }

  public Id id(String name) throws DamagedException {
    return Id.parse(hex(name, 2 * Id.BYTES));
  }

  /** A digest, as 64 lower-case hexadecimal digits. */
  public String sha256(String name) throws DamagedException {
    return hex(name, 64);
  }

  /** Lower-case hexadecimal digits. */
  public String hex(String name, int digits) throws DamagedException {
    String value = text(name);
    if (value.length() != digits || !HEX.matcher(value).matches()) {
      throw wrong(name, digits + " hexadecimal digits");
    }
    return value;
  }

  /** Bytes, in the one base64 text that they have: padded, and without bits that say nothing. */
  public byte[] bytes(String name) throws DamagedException {
    String text = text(name);
    try {
      byte[] bytes = Base64.getDecoder().decode(text);
      if (Base64.getEncoder().encodeToString(bytes).equals(text)) {
        return bytes;
      }
    } catch (IllegalArgumentException e) {
      // Told below.
    }
    throw wrong(name, "base64");
  }

  public List<Fields> objects(String name) throws DamagedException {
    JsonNode array = get(name);
    if (!array.isArray()) {
      throw wrong(name, "an array");
    }
    var all = new ArrayList<Fields>(array.size());
    for (JsonNode element : array) {
      all.add(new Fields(element, path));
    }
    return all;
  }
}
