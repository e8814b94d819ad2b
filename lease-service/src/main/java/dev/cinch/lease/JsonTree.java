package dev.cinch.lease;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.SerializableString;
import com.fasterxml.jackson.core.TSFBuilder;
import com.fasterxml.jackson.core.io.CharacterEscapes;
import com.fasterxml.jackson.core.io.SerializedString;
import com.fasterxml.jackson.core.util.ByteArrayBuilder;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.BinaryNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.errorprone.annotations.CheckReturnValue;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.util.Base64;
import java.util.Iterator;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads and writes whole JSON documents strictly: each field once, nothing behind the document. An
 * {@code ObjectMapper} does it too, and takes longer to start than an append takes. Thread-safe.
 */
@CheckReturnValue
public final class JsonTree {
  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
  private static final Base64.Encoder BASE64 = Base64.getUrlEncoder().withoutPadding();

  private final JsonFactory factory;
  private final boolean indented;

  private JsonTree(JsonFactory factory, boolean indented) {
    this.factory = factory;
    this.indented = indented;
  }

  /**
   * Reads and writes by a factory.
   *
   * @param builder sets limits and escapes
   * @param indented whether to write for people
   */
  public static JsonTree of(TSFBuilder<?, ?> builder, boolean indented) {
    return new JsonTree(builder.build(), indented);
  }

  /**
   * Reads one document; without any it is a {@link MissingNode}.
   *
   * @throws JsonProcessingException if it is none, or if something follows
   */
  public JsonNode read(byte[] bytes) throws IOException {
    try (JsonParser in = factory.createParser(bytes)) {
      return read(in);
    }
  }

  /**
   * As {@link #read(byte[])}, of text in UTF-8 alone: of bytes a parser also takes UTF-16 and
   * UTF-32, a mark before the text, and characters that are coded in no way that others know.
   */
  public JsonNode readUtf8(byte[] bytes) throws IOException {
    // Such a decoder tells of what is not UTF-8, and leaves a mark in place, which is no JSON.
    var text = new InputStreamReader(new ByteArrayInputStream(bytes), UTF_8.newDecoder());
    try (JsonParser in = factory.createParser(text)) {
      return read(in);
    }
  }

  /** As {@link #read(byte[])}. */
  public JsonNode read(String text) throws IOException {
    try (JsonParser in = factory.createParser(text)) {
      return read(in);
    }
  }

  private static JsonNode read(JsonParser in) throws IOException {
    JsonToken first = in.nextToken();
    JsonNode node = first == null ? MissingNode.getInstance() : value(in, first);
    JsonToken next = in.nextToken();
    if (next != null) {
      throw new JsonParseException(in, "Trailing token (of type " + next + ")");
    }
    return node;
  }

  /** The depth is bounded by the parser. */
  private static JsonNode value(JsonParser in, JsonToken token) throws IOException {
    return switch (token) {
      case START_OBJECT -> object(in);
      case START_ARRAY -> array(in);
      case VALUE_STRING -> NODES.textNode(in.getText());
      case VALUE_TRUE -> NODES.booleanNode(true);
      case VALUE_FALSE -> NODES.booleanNode(false);
      case VALUE_NULL -> NODES.nullNode();
      case VALUE_NUMBER_FLOAT -> NODES.numberNode(in.getDoubleValue());
      case VALUE_NUMBER_INT ->
          switch (in.getNumberType()) {
            case INT -> NODES.numberNode(in.getIntValue());
            case LONG -> NODES.numberNode(in.getLongValue());
            default -> NODES.numberNode(in.getBigIntegerValue());
          };
      default -> throw new JsonParseException(in, "Unexpected token (" + token + ")");
    };
  }

  private static ObjectNode object(JsonParser in) throws IOException {
    ObjectNode object = NODES.objectNode();
    for (String name = in.nextFieldName(); name != null; name = in.nextFieldName()) {
      JsonNode before = object.replace(name, value(in, in.nextToken()));
      if (before != null) {
        throw new JsonParseException(in, "Duplicate field '" + name + "'");
      }
    }
    return object;
  }

  private static ArrayNode array(JsonParser in) throws IOException {
    ArrayNode array = NODES.arrayNode();
    for (JsonToken t = in.nextToken(); t != JsonToken.END_ARRAY; t = in.nextToken()) {
      array.add(value(in, t));
    }
    return array;
  }

  /** The document in UTF-8, without a newline behind it; bytes are in base64url. */
  public byte[] write(JsonNode node) {
    var out = new ByteArrayBuilder(); // which does not copy what it has each time it grows
    try (JsonGenerator to = factory.createGenerator(out)) {
      if (indented) {
        to.useDefaultPrettyPrinter();
      }
      write(to, node);
    } catch (IOException e) {
      throw new UncheckedIOException("a tree of JSON can always be written", e);
    }
    return out.toByteArray();
  }

  private static void write(JsonGenerator to, @Nullable JsonNode node) throws IOException {
    if (node instanceof ObjectNode object) {
      to.writeStartObject(object, object.size());
      for (Iterator<Map.Entry<String, JsonNode>> i = object.fields(); i.hasNext(); ) {
        Map.Entry<String, JsonNode> field = i.next();
        to.writeFieldName(field.getKey());
        write(to, field.getValue());
      }
      to.writeEndObject();
    } else if (node instanceof ArrayNode array) {
      to.writeStartArray(array, array.size());
      for (int i = 0; i < array.size(); i++) {
        write(to, array.get(i));
      }
      to.writeEndArray();
    } else if (node == null || node.isNull()) {
      to.writeNull();
    } else if (node.isTextual()) {
      to.writeString(node.textValue());
    } else if (node instanceof BinaryNode bytes) {
      byte[] text = BASE64.encode(bytes.binaryValue());
      to.writeRawUTF8String(text, 0, text.length); // raw: it has nothing to escape
    } else if (node.isBoolean()) {
      to.writeBoolean(node.booleanValue());
    } else if (node.isIntegralNumber() && node.canConvertToLong()) {
      to.writeNumber(node.longValue());
    } else if (node.isIntegralNumber()) {
      to.writeNumber(node.bigIntegerValue());
    } else if (node.isFloatingPointNumber()) {
      to.writeNumber(node.doubleValue());
    } else {
      throw new IllegalArgumentException("not of a document: " + node.getNodeType());
    }
  }

  /**
   * Escapes in JSON, besides what JSON itself asks for, what {@link OneLine#isHidden}: whoever
   * looks at the text then sees all that is in it, in its order. Thread-safe.
   */
  public static final class Escapes extends CharacterEscapes {
    public static final Escapes INSTANCE = new Escapes();

    private static final long serialVersionUID = 1;

    private Escapes() {}

    @Override
    public int[] getEscapeCodesForAscii() {
      int[] codes = standardAsciiEscapesForJSON();
      for (int c = 0; c < codes.length; c++) {
        if (codes[c] == ESCAPE_STANDARD || c == 0x7F) {
          codes[c] = ESCAPE_CUSTOM; // in small letters, like all others
        }
      }
      return codes;
    }

    @Override
    public @Nullable SerializableString getEscapeSequence(int c) {
      return OneLine.isHidden(c) ? new SerializedString("\\u%04x".formatted(c)) : null;
    }
  }
}
