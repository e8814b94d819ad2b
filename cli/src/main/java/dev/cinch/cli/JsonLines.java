package dev.cinch.cli;

import dev.cinch.lease.IsoTime;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Collection;

/**
 * Writes what {@code --json} prints: one object a line, straight into an {@link Output}. Names,
 * types and times are those of the lease service's HTTP API; {@code docs/json.md} has the rules.
 * Not thread-safe.
 */
final class JsonLines {
  private static final long NANOS = 1_000_000_000L;
  private static final int MAX_DEPTH = 8;
  private static final int MOST_DIGITS = 20;

  private final Output out;
  private final byte[] ends = new byte[MAX_DEPTH];
  private final byte[] digits = new byte[MOST_DIGITS];
  private int depth;
  private boolean more;
  private long second = Long.MIN_VALUE;
  private byte[] secondText = new byte[0];

  JsonLines(Output out) {
    this.out = out;
  }

  /** Begins a line's object, or one in a list. */
  JsonLines object() throws IOException {
    comma();
    return open('{', '}');
  }

  /** Begins a field's object. */
  JsonLines object(String name) throws IOException {
    name(name);
    return open('{', '}');
  }

  /** Begins a field's list. */
  JsonLines list(String name) throws IOException {
    name(name);
    return open('[', ']');
  }

  /** Ends the object or list that was begun last; with the line's object, the line. */
  JsonLines end() throws IOException {
    out.write(ends[--depth]);
    more = true;
    if (depth == 0) {
      out.write('\n');
      more = false;
    }
    return this;
  }

  JsonLines text(String name, String value) throws IOException {
    name(name);
    JsonText.string(out, value);
    return this;
  }

  JsonLines number(String name, long value) throws IOException {
    name(name);
    digits(value);
    return this;
  }

  JsonLines flag(String name, boolean value) throws IOException {
    name(name);
    out.text(value ? "true" : "false");
    return this;
  }

  /** A field that is a list of text. */
  JsonLines texts(String name, Collection<?> values) throws IOException {
    list(name);
    for (Object value : values) {
      comma();
      JsonText.string(out, value.toString());
    }
    return end();
  }

  /** A time in its two forms: text, and a string of nanoseconds since the Unix epoch. */
  JsonLines time(String name, long nanos) throws IOException {
    name(name);
    out.write('"');
    long now = Math.floorDiv(nanos, NANOS);
    if (now != second) {
      second = now;
      secondText = IsoTime.second(now).getBytes(StandardCharsets.US_ASCII);
    }
    out.write(secondText, 0, secondText.length);
    out.write('.');
    long rest = Math.floorMod(nanos, NANOS);
    for (long unit = NANOS / 10; unit > 0; unit /= 10) {
      out.write((int) ('0' + rest / unit % 10));
    }
    out.text("Z\",\"");
    out.text(name);
    out.text("Nanos\":\"");
    digits(nanos);
    out.write('"');
    return this;
  }

  /** As {@link #time}, unless the time is {@link Long#MIN_VALUE}, which stands for none. */
  JsonLines timeIfAny(String name, long nanos) throws IOException {
    return nanos == Long.MIN_VALUE ? this : time(name, nanos);
  }

  /** A payload: text if it is UTF-8, else base64 under another name. */
  JsonLines payload(byte[] bytes) throws IOException {
    comma();
    JsonText.payload(out, bytes);
    return this;
  }

  /** A field whose value was written before. */
  JsonLines written(String name, byte[] json) throws IOException {
    name(name);
    out.write(json, 0, json.length);
    return this;
  }

  private JsonLines open(char begin, char end) throws IOException {
    out.write(begin);
    ends[depth++] = (byte) end;
    more = false;
    return this;
  }

  private void name(String name) throws IOException {
    comma();
    out.write('"');
    out.text(name);
    out.text("\":");
  }

  private void comma() throws IOException {
    if (more) {
      out.write(',');
    }
    more = true;
  }

  private void digits(long value) throws IOException {
    if (value < 0) { // rare, and the lowest has no positive
      out.text(Long.toString(value));
      return;
    }
    int at = MOST_DIGITS;
    long left = value;
    do {
      digits[--at] = (byte) ('0' + left % 10);
      left /= 10;
    } while (left > 0);
    out.write(digits, at, MOST_DIGITS - at);
  }
}
