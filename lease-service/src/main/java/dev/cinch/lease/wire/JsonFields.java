package dev.cinch.lease.wire;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.Id;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.JsonTree;
import dev.cinch.lease.JsonTree.Escapes;
import dev.cinch.lease.OneLine;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CoderResult;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads one JSON object strictly: each field once, of the right kind, and no field that nobody
 * asked for. Not thread-safe.
 */
public final class JsonFields {
  /** Shared by reader and writer; thread-safe. */
  public static final JsonTree JSON =
      JsonTree.of(new JsonFactoryBuilder().characterEscapes(Escapes.INSTANCE), false);

  /** What HTTP calls a body of it. */
  public static final String CONTENT_TYPE = "application/json";

  private final JsonNode object;
  private final String where;

  /** The fields that it has of those that were asked for; few. */
  private final List<String> asked = new ArrayList<>(8);

  private JsonFields(JsonNode object, String where) {
    this.object = object;
    this.where = where;
  }

  /** Parses UTF-8 that is one object and nothing else. */
  public static JsonFields parse(byte[] utf8) throws WireException {
    return parse(utf8, false);
  }

  /**
   * As {@link #parse(byte[])}, and sooner of a long body. Of bytes Jackson says in other words what
   * is wrong, so requests are not read so: their senders are told.
   */
  public static JsonFields parseAnswer(byte[] utf8) throws WireException {
    return parse(utf8, isPlain(utf8));
  }

  private static JsonFields parse(byte[] utf8, boolean plain) throws WireException {
    JsonNode node;
    try {
      node = plain ? JSON.read(utf8) : JSON.read(decoded(utf8));
    } catch (IOException | RuntimeException e) {
      // Unchecked is what the parser says of names that were chosen to share a place in its table.
      String message =
          e instanceof JsonProcessingException json
              ? json.getOriginalMessage()
              : String.valueOf(e.getMessage());
      int line = message.indexOf('\n');
      throw new WireException("not JSON: " + (line < 0 ? message : message.substring(0, line)));
    }
    return of(node, "the body");
  }

  /** Whether it is ASCII without NUL, as nearly all is: that is UTF-8 to everybody. */
  private static boolean isPlain(byte[] body) {
    int all = 0;
    for (byte each : body) {
      all |= each | (each - 1); // below zero for NUL too
    }
    return all >= 0;
  }

  /** Of other bytes Jackson would also take UTF-16 and UTF-32, by guessing. */
  private static String decoded(byte[] utf8) throws WireException {
    ByteBuffer in = ByteBuffer.wrap(utf8);
    CharBuffer out = CharBuffer.allocate(utf8.length);
    CoderResult result = UTF_8.newDecoder().decode(in, out, true);
    if (result.isError()) {
      throw new WireException("the body is not UTF-8, at byte " + in.position());
    }
    String text = out.flip().toString();
    int nul = text.indexOf('\0');
    if (nul >= 0) {
      throw new WireException("the body is not JSON in UTF-8: NUL at character " + nul);
    }
    return text;
  }

  /** The fields of an object. */
  public static JsonFields of(@Nullable JsonNode node, String where) throws WireException {
    if (node == null || !node.isObject()) {
      throw new WireException(where + " is not a JSON object");
    }
    return new JsonFields(node, where);
  }

  /** All of it, also what nobody asked for. */
  public ObjectNode document() {
    return (ObjectNode) object;
  }

  public boolean has(String name) {
    JsonNode node = find(name);
    return node != null && !node.isNull();
  }

  public String text(String name) throws WireException {
    JsonNode node = get(name);
    if (!node.isTextual()) {
      throw wrong(name, "a string");
    }
    return node.textValue();
  }

  public long integer(String name) throws WireException {
    JsonNode node = get(name);
    if (!node.isIntegralNumber() || !node.canConvertToLong()) {
      throw wrong(name, "an integer of 64 bits");
    }
    return node.longValue();
  }

  /** A time, as text of ISO 8601: as numbers many readers round nanoseconds. */
  public long time(String name) throws WireException {
    JsonNode node = get(name);
    try {
      if (node.isTextual()) {
        return IsoTime.nanos(node.textValue());
      }
    } catch (IllegalArgumentException e) {
      // Told as any other value that is no time.
    }
    throw wrong(name, "a time like \"2026-11-23T14:00:05.123456789Z\"");
  }

  /** An id: 32 hexadecimal digits. */
  public Id id(String name) throws WireException {
    return id(get(name), name);
  }

  /** An array of ids, likewise. */
  public List<Id> ids(String name) throws WireException {
    var found = new ArrayList<Id>();
    for (JsonNode node : array(name)) {
      found.add(id(node, name));
    }
    return found;
  }

  private Id id(JsonNode node, String name) throws WireException {
    if (!node.isTextual()) {
      throw wrong(name, "a string");
    }
    try {
      return Id.parse(node.textValue());
    } catch (IllegalArgumentException e) {
      throw new WireException("\"" + name + "\": an id has 32 hexadecimal digits");
    }
  }

  /** An array of bytes, each in base64url. */
  public List<byte[]> allBytes(String name) throws WireException {
    var found = new ArrayList<byte[]>();
    for (JsonNode node : array(name)) {
      found.add(bytes(node, name));
    }
    return found;
  }

  private byte[] bytes(JsonNode node, String name) throws WireException {
    if (!node.isTextual()) {
      throw wrong(name, "a string");
    }
    try {
      return Base64.getUrlDecoder().decode(node.textValue());
    } catch (IllegalArgumentException e) {
      throw wrong(name, "base64url");
    }
  }

  /** The name of the only field that it has. */
  public String only() throws WireException {
    if (object.size() != 1) {
      throw new WireException(where + " has " + object.size() + " fields, not one");
    }
    return object.fieldNames().next();
  }

  public boolean flag(String name) throws WireException {
    JsonNode node = get(name);
    if (!node.isBoolean()) {
      throw wrong(name, "true or false");
    }
    return node.booleanValue();
  }

  public JsonFields object(String name) throws WireException {
    return of(get(name), where + "'s \"" + name + "\"");
  }

  public boolean isText(String name) throws WireException {
    return get(name).isTextual();
  }

  public List<String> texts(String name) throws WireException {
    var found = new ArrayList<String>();
    for (JsonNode node : array(name)) {
      if (!node.isTextual()) {
        throw wrong(name, "an array of strings");
      }
      found.add(node.textValue());
    }
    return found;
  }

  public List<JsonFields> objects(String name) throws WireException {
    var found = new ArrayList<JsonFields>();
    String entry = "an entry of \"" + name + "\"";
    for (JsonNode node : array(name)) {
      found.add(of(node, entry));
    }
    return found;
  }

  private JsonNode array(String name) throws WireException {
    JsonNode node = get(name);
    if (!node.isArray()) {
      throw wrong(name, "an array");
    }
    return node;
  }

  /** To be called when everything was asked for. */
  public void noOthers() throws WireException {
    if (asked.size() == object.size()) {
      return;
    }
    for (var names = object.fieldNames(); names.hasNext(); ) {
      String name = names.next();
      if (!asked.contains(name)) {
        throw new WireException(where + " has an unknown field \"" + OneLine.of(name, 40) + "\"");
      }
    }
  }

  public WireException wrong(String name, String expected) {
    return new WireException(where + "'s \"" + name + "\" is not " + expected);
  }

  private JsonNode get(String name) throws WireException {
    JsonNode node = find(name);
    if (node == null || node.isNull()) {
      throw new WireException(where + " lacks \"" + name + "\"");
    }
    return node;
  }

  private @Nullable JsonNode find(String name) {
    JsonNode node = object.get(name);
    if (node != null && !asked.contains(name)) {
      asked.add(name);
    }
    return node;
  }
}
