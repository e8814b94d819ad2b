package dev.cinch.cli.append;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.cli.base.TimeText;
import dev.cinch.cli.base.Words;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;

/**
 * The time that a line says of itself in a field of the JSON object that it is, and how many lines
 * got another one. Any thread may look at a line; one counts.
 */
final class TimeField {
  /** Names of fields are looked at once: to keep each takes longer than to read the line. */
  private static final JsonFactory JSON =
      JsonFactory.builder().disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES).build();

  /** Lines that say the same time get different ones: that close is as they said. */
  private static final long SAME_NANOS = 1_000_000;

  private static final double MICROS_PER_SECOND = 1e6;

  private final String name;
  private final TimeText text;
  private long none;
  private long moved;
  private long furthest;

  /**
   * @param name the field's
   * @param clock that of the machine
   */
  TimeField(String name, TimeSource clock) {
    this.name = name;
    this.text = TimeText.of(clock);
  }

  /** What a line says, in nanoseconds since the Unix epoch; the clock's if it says nothing. */
  long of(byte[] bytes, int offset, int length) {
    try (JsonParser in = JSON.createParser(bytes, offset, length)) {
      if (in.nextToken() != JsonToken.START_OBJECT) {
        return LogWriter.CLOCK;
      }
      while (in.nextToken() == JsonToken.FIELD_NAME) {
        boolean found = in.currentName().equals(name);
        JsonToken value = in.nextToken();
        if (found) {
          return time(in, value);
        }
        JsonParser unused = in.skipChildren();
      }
    } catch (IOException | IllegalArgumentException | ArithmeticException e) {
      // A line may be anything, and is appended all the same.
    }
    return LogWriter.CLOCK;
  }

  private long time(JsonParser in, JsonToken value) throws IOException {
    return switch (value) {
      case VALUE_STRING, VALUE_NUMBER_INT ->
          text.parse(in.getText().strip().replace(',', '.')).nanos();
      // Seconds: a double holds the microseconds of this century's, and no more.
      case VALUE_NUMBER_FLOAT ->
          Math.multiplyExact(Math.round(in.getDoubleValue() * MICROS_PER_SECOND), 1_000L);
      default -> LogWriter.CLOCK;
    };
  }

  /** A line is in the log; counts it if its message's time is not what it says. */
  void committed(long own, long timestamp) {
    if (own == LogWriter.CLOCK) {
      none++;
      return;
    }
    long off = Math.abs(timestamp - own);
    if (off < 0 || off >= SAME_NANOS) {
      moved++;
      furthest = Math.max(furthest, off < 0 ? Long.MAX_VALUE : off);
    }
  }

  /** In words, behind others; empty if each message has its line's time. */
  String summary() {
    return (moved == 0
            ? ""
            : "; "
                + moved
                + (moved == 1
                    ? " has another time than its line says, by "
                    : " have other times than their lines say, by up to ")
                + Words.span(furthest))
        + (none == 0
            ? ""
            : "; "
                + none
                + (none == 1 ? " line says" : " lines say")
                + " no time in \""
                + name
                + '"');
  }
}
