package dev.cinch.cli.base;

import com.fasterxml.jackson.core.JsonEncoding;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.SerializableString;
import com.fasterxml.jackson.core.StreamWriteFeature;
import com.fasterxml.jackson.core.io.CharacterEscapes;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import dev.cinch.lease.IsoTime;
import dev.cinch.lease.JsonTree;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Writes what {@code --json} prints: one object a line, straight into an {@link Output}. Names,
 * types and times are those of the lease service's HTTP API; {@code docs/json.md} has the rules.
 * Not thread-safe.
 */
public final class JsonLines {
  private static final long NANOS = 1_000_000_000L;

  private static final JsonFactory FACTORY =
      new JsonFactoryBuilder()
          .characterEscapes(new Escapes())
          .rootValueSeparator((String) null)
          .disable(StreamWriteFeature.FLUSH_PASSED_TO_STREAM)
          .enable(JsonWriteFeature.COMBINE_UNICODE_SURROGATES_IN_UTF8)
          .build();

  private final JsonGenerator json;
  private long second = Long.MIN_VALUE;
  private String secondText = "";

  public JsonLines(Output out) {
    try {
      json = FACTORY.createGenerator(out, JsonEncoding.UTF8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** All that hides in text, and all control characters, most of them by their numbers. */
  private static final class Escapes extends CharacterEscapes {
    private static final long serialVersionUID = 1;

    @Override
    public int[] getEscapeCodesForAscii() {
      int[] codes = JsonTree.Escapes.INSTANCE.getEscapeCodesForAscii();
      codes['\b'] = ESCAPE_CUSTOM;
      codes['\f'] = ESCAPE_CUSTOM;
      return codes;
    }

    @Override
    public @Nullable SerializableString getEscapeSequence(int c) {
      return JsonTree.Escapes.INSTANCE.getEscapeSequence(c);
    }
  }

  /** Begins a line's object, or one in a list. */
  public JsonLines object() throws IOException {
    json.writeStartObject();
    return this;
  }

  /** Begins a field's object. */
  public JsonLines object(String name) throws IOException {
    json.writeObjectFieldStart(name);
    return this;
  }

  /** Begins a line that is a list. */
  public JsonLines list() throws IOException {
    json.writeStartArray();
    return this;
  }

  /** Begins a field's list. */
  public JsonLines list(String name) throws IOException {
    json.writeArrayFieldStart(name);
    return this;
  }

  /** Ends the object or list that was begun last; with the line's object, the line. */
  public JsonLines end() throws IOException {
    if (json.getOutputContext().inArray()) {
      json.writeEndArray();
    } else {
      json.writeEndObject();
    }
    if (json.getOutputContext().inRoot()) {
      json.writeRaw('\n');
      json.flush();
    }
    return this;
  }

  public JsonLines text(String name, String value) throws IOException {
    json.writeStringField(name, value);
    return this;
  }

  public JsonLines number(String name, long value) throws IOException {
    json.writeNumberField(name, value);
    return this;
  }

  public JsonLines flag(String name, boolean value) throws IOException {
    json.writeBooleanField(name, value);
    return this;
  }

  /**
   * A field of any value: null, a Boolean, Number or String, {@code byte[]} as base64, a List of
   * values or a Map of names to them.
   */
  public JsonLines value(String name, @Nullable Object value) throws IOException {
    json.writeFieldName(name);
    write(value);
    return this;
  }

  private void write(@Nullable Object value) throws IOException {
    if (value instanceof List<?> list) {
      list();
      for (Object one : list) {
        write(one);
      }
      json.writeEndArray();
    } else if (value instanceof Map<?, ?> map) {
      object();
      for (Map.Entry<?, ?> entry : map.entrySet()) {
        value("" + entry.getKey(), entry.getValue());
      }
      json.writeEndObject();
    } else if (value instanceof BigInteger || value instanceof BigDecimal) {
      json.writeNumber(value.toString());
    } else if (value instanceof Float || value instanceof Double) {
      json.writeNumber(((Number) value).doubleValue());
    } else if (value instanceof Number number) {
      json.writeNumber(number.longValue());
    } else if (value instanceof Boolean flag) {
      json.writeBoolean(flag);
    } else if (value instanceof byte[] bytes) {
      json.writeBinary(bytes);
    } else if (value == null) {
      json.writeNull();
    } else {
      json.writeString(value.toString());
    }
  }

  /** A field that is a list of text. */
  public JsonLines texts(String name, Collection<?> values) throws IOException {
    list(name);
    for (Object value : values) {
      json.writeString(value.toString());
    }
    return end();
  }

  /** A time in its two forms: text, and a string of nanoseconds since the Unix epoch. */
  public JsonLines time(String name, long nanos) throws IOException {
    long now = Math.floorDiv(nanos, NANOS);
    if (now != second) {
      second = now;
      secondText = IsoTime.second(now) + ".";
    }
    String digits = Long.toString(NANOS + Math.floorMod(nanos, NANOS)).substring(1);
    return text(name, secondText + digits + "Z").text(name + "Nanos", Long.toString(nanos));
  }

  /** As {@link #time}, unless the time is {@link Long#MIN_VALUE}, which stands for none. */
  public JsonLines timeIfAny(String name, long nanos) throws IOException {
    return nanos == Long.MIN_VALUE ? this : time(name, nanos);
  }

  /** A payload: text if it is UTF-8, else base64 under another name. */
  public JsonLines payload(byte[] bytes) throws IOException {
    String text = new String(bytes, StandardCharsets.UTF_8);
    if (text.indexOf('\uFFFD') < 0 || Arrays.equals(text.getBytes(StandardCharsets.UTF_8), bytes)) {
      return text("payload", text);
    }
    json.writeBinaryField("payloadBase64", bytes);
    return this;
  }

  /** A field whose value was written before. */
  public JsonLines written(String name, String value) throws IOException {
    json.writeFieldName(name);
    json.writeRawValue(value);
    return this;
  }
}
