package dev.cinch.bag.storage.object.s3;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.OneLine;
import java.io.IOException;
import java.time.DateTimeException;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Map;
import java.util.Optional;

/**
 * What a server said. Immutable.
 *
 * @param headers those that were wanted
 * @param body whole, or the part that was asked for
 */
@CheckReturnValue
@SuppressWarnings("ArrayRecordComponent") // read once by who asked
record Answer(int status, Map<String, String> headers, byte[] body) {
  private static final long SECOND = 1_000_000_000L;
  private static final int MOST_SAID = 300;

  Optional<String> header(String name) {
    return Optional.ofNullable(headers.get(name));
  }

  /** The time in a header, nanoseconds since the Unix epoch; empty if there is none. */
  Optional<Long> time(String header) {
    return header(header)
        .flatMap(
            text -> {
              try {
                var time = ZonedDateTime.parse(text, DateTimeFormatter.RFC_1123_DATE_TIME);
                return Optional.of(Math.multiplyExact(time.toEpochSecond(), SECOND));
              } catch (DateTimeException | ArithmeticException e) {
                return Optional.empty();
              }
            });
  }

  /** The error in its body; empty if that is something else. */
  Optional<Xml> error() {
    if (body.length == 0) {
      return Optional.empty();
    }
    try {
      return Optional.of(Xml.read(body)).filter(xml -> xml.name().equals("Error"));
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  /** The code of its error; empty if it says none. */
  String code() {
    return error().flatMap(xml -> xml.get("Code")).map(c -> OneLine.of(c, MOST_SAID)).orElse("");
  }

  /** What it says, for people. */
  String inWords() {
    String said =
        error()
            .flatMap(xml -> xml.get("Message"))
            .map(text -> ": " + OneLine.of(text.strip().replaceFirst("[.]$", ""), MOST_SAID))
            .orElse("");
    return (status + " " + code()).strip() + said;
  }
}
