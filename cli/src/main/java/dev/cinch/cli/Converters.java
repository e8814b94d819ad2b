package dev.cinch.cli;

import dev.cinch.bag.layout.LogName;
import dev.cinch.bag.layout.MachineName;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.OneLine;
import java.net.URI;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads the values of options; whatever is no value is refused with a line that says what is. */
final class Converters {
  private static final Pattern DURATION = Pattern.compile("([+-]?)(\\d{1,15})(ns|us|ms|s|m|h|d)");
  private static final Pattern NUMBER = Pattern.compile("-?\\d{1,19}");
  private static final long NANOS = 1_000_000_000L;

  private Converters() {}

  static void register(CommandLine line) {
    line.registerConverter(LogName.class, of(LogName::new));
    line.registerConverter(MachineName.class, of(MachineName::new));
    line.registerConverter(LeaseName.class, of(LeaseName::new));
    line.registerConverter(Id.class, of(Id::parse));
    line.registerConverter(Duration.class, of(Converters::duration));
    line.registerConverter(Moment.class, of(Moment::parse));
    line.registerConverter(Path.class, of(Converters::path));
    line.registerConverter(URI.class, of(Converters::address));
  }

  /** A time on the command line, in nanoseconds since the Unix epoch. */
  record Moment(long nanos) {
    /** Reads {@code 2026-11-21T04:02:25Z}, also with fractions, or nanoseconds. */
    static Moment parse(String text) {
      try {
        if (NUMBER.matcher(text).matches()) {
          return new Moment(Long.parseLong(text));
        }
        Instant instant = Instant.parse(text);
        return new Moment(
            Math.addExact(Math.multiplyExact(instant.getEpochSecond(), NANOS), instant.getNano()));
      } catch (DateTimeException | ArithmeticException | NumberFormatException e) {
        throw new IllegalArgumentException(
            "not a time: \""
                + shown(text)
                + "\"; like 2026-11-21T04:02:25Z, or nanoseconds since 1970");
      }
    }

    /** The time as text, to the nanosecond where it has them. */
    static String text(long nanos) {
      return Instant.ofEpochSecond(Math.floorDiv(nanos, NANOS), Math.floorMod(nanos, NANOS))
          .toString();
    }
  }

  /** Reads {@code 500ms}, {@code 10s}, {@code -3m} and the like. */
  static Duration duration(String text) {
    Matcher m = DURATION.matcher(text);
    try {
      if (m.matches()) {
        long n = Long.parseLong(m.group(2)) * (m.group(1).equals("-") ? -1 : 1);
        Duration duration =
            switch (m.group(3)) {
              case "ns" -> Duration.ofNanos(n);
              case "us" -> Duration.ofNanos(Math.multiplyExact(n, 1_000L));
              case "ms" -> Duration.ofMillis(n);
              case "s" -> Duration.ofSeconds(n);
              case "m" -> Duration.ofMinutes(n);
              case "h" -> Duration.ofHours(n);
              default -> Duration.ofDays(n);
            };
        long unused = duration.toNanos(); // refuses what no 64-bit count of nanoseconds holds
        return duration;
      }
    } catch (ArithmeticException e) {
      // Too long: as wrong as any other text.
    }
    throw new IllegalArgumentException(
        "not a duration: \"" + shown(text) + "\"; like 500ms, 10s, 5m, 1h, 30d");
  }

  /** An empty one would be the current directory, which nobody means: a variable was not set. */
  private static Path path(String text) {
    if (text.isEmpty()) {
      throw new IllegalArgumentException("the path is empty");
    }
    return Path.of(text);
  }

  private static URI address(String text) {
    try {
      return URI.create(text);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "not an address: \"" + shown(text) + "\"; like http://127.0.0.1:8470", e);
    }
  }

  private static String shown(String text) {
    return OneLine.of(text, 40);
  }

  /** Keeps picocli from quoting the value, which may be 10,000 characters long. */
  private static <T> ITypeConverter<T> of(Function<String, T> parser) {
    return text -> {
      try {
        return parser.apply(text);
      } catch (IllegalArgumentException e) {
        throw new TypeConversionException(String.valueOf(e.getMessage()));
      }
    };
  }
}
