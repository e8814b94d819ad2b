package dev.cinch.cli.base;

import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.object.ObjectAddress;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.access.Permission;
import dev.cinch.lease.client.ServerAddresses;
import dev.cinch.lease.time.SystemTime;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads the values of options; whatever is no value is refused with a line that says what is. */
public final class Converters {
  private static final String PART = "(\\d{1,15})(ns|us|ms|s|m|h|d|w)";
  private static final Pattern DURATION = Pattern.compile("[+-]?(?:" + PART + "){1,8}");
  private static final Pattern DURATION_PART = Pattern.compile(PART);
  private static final long NANOS = 1_000_000_000L;

  private Converters() {}

  public static void register(CommandLine line) {
    var times = TimeText.of(SystemTime.INSTANCE); // one now for all times of a command line
    line.registerConverter(LogName.class, of(LogName::new));
    line.registerConverter(MachineName.class, of(MachineName::new));
    line.registerConverter(LeaseName.class, of(LeaseName::new));
    line.registerConverter(LogChoice.Chosen.class, of(LogChoice.Chosen::parse));
    line.registerConverter(CellMember.class, of(CellMember::parse));
    line.registerConverter(ShardChoice.Wanted.class, of(ShardChoice.Wanted::parse));
    line.registerConverter(Id.class, of(Id::parse));
    line.registerConverter(Permission.class, of(Permission::parse));
    line.registerConverter(Duration.class, of(Converters::duration));
    line.registerConverter(Moment.class, of(times::parse));
    line.registerConverter(int.class, of(Converters::count));
    line.registerConverter(Integer.class, of(Converters::count));
    line.registerConverter(Path.class, of(Converters::path));
    line.registerConverter(Name.class, of(Converters::store));
    line.registerConverter(ServerAddresses.class, of(ServerAddresses::parse));
  }

  /** Why a text is no name, of those that may be several on a command line; null if it is one. */
  public static @Nullable String problem(Class<?> type, String text) {
    try {
      if (type == LogName.class) {
        var unused = new LogName(text);
      } else if (type == LeaseName.class) {
        var unused = new LeaseName(text);
      }
      return null;
    } catch (IllegalArgumentException e) {
      return e.getMessage();
    }
  }

  /** A time, in nanoseconds since the Unix epoch; see {@link TimeText}. */
  public record Moment(long nanos) {
    /** The time as text, to the nanosecond where it has them. */
    public static String text(long nanos) {
      return Instant.ofEpochSecond(Math.floorDiv(nanos, NANOS), Math.floorMod(nanos, NANOS))
          .toString();
    }
  }

  /** Of a store: a directory, or the URI of another storage that there is. */
  static Name store(String text) {
    var name = new Name(text);
    if (name.isDirectory()) {
      return Name.of(path(text));
    }
    if (text.startsWith("s3:")) {
      var unused = ObjectAddress.parse(text); // which says what is wrong
      return name;
    }
    try {
      var uri = new URI(text);
      if (Store.isStorage(uri)) {
        return uri.getScheme().equals("file") ? Name.of(Path.of(uri)) : name;
      }
    } catch (URISyntaxException | IllegalArgumentException e) {
      // It is no absolute one, or none at all.
    }
    boolean others = text.startsWith("gs:") || text.startsWith("az:");
    throw new IllegalArgumentException(
        shown(text)
            + (others
                ? ": no such storage yet; of object stores there are those that speak S3, s3://BUCKET/PREFIX"
                : ": expected a directory"));
  }

  /** Reads {@code 500ms}, {@code 10s}, {@code 1h30m}, {@code -3m} and the like. */
  static Duration duration(String text) {
    try {
      return sum(text);
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(
          "too long: \"" + shown(text) + "\"; a duration is at most 106751d, 292 years", e);
    }
  }

  /** Whether it is a duration with a sign. */
  static boolean isDistance(String text) {
    return DURATION.matcher(text).matches() && !Character.isDigit(text.charAt(0));
  }

  /**
   * As {@link #duration}.
   *
   * @throws ArithmeticException if no 64-bit count of nanoseconds holds it
   */
  static Duration sum(String text) {
    if (!DURATION.matcher(text).matches()) {
      throw new IllegalArgumentException(
          "not a duration: \"" + shown(text) + "\"; like 500ms, 10s, 5m, 1h30m, 30d");
    }
    Duration sum = Duration.ZERO;
    Matcher m = DURATION_PART.matcher(text);
    while (m.find()) {
      sum = sum.plus(part(Long.parseLong(m.group(1)), m.group(2)));
    }
    Duration duration = text.startsWith("-") ? sum.negated() : sum;
    long unused = duration.toNanos(); // refuses what is too long
    return duration;
  }

  private static Duration part(long n, String unit) {
    return switch (unit) {
      case "ns" -> Duration.ofNanos(n);
      case "us" -> Duration.ofNanos(Math.multiplyExact(n, 1_000L));
      case "ms" -> Duration.ofMillis(n);
      case "s" -> Duration.ofSeconds(n);
      case "m" -> Duration.ofMinutes(n);
      case "h" -> Duration.ofHours(n);
      case "d" -> Duration.ofDays(n);
      default -> Duration.ofDays(Math.multiplyExact(n, 7L));
    };
  }

  private static int count(String text) {
    try {
      return Integer.parseInt(text);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "not a whole number: \"" + shown(text) + "\"; without a unit, at most 2147483647", e);
    }
  }

  /** An empty one would be the current directory, which nobody means: a variable was not set. */
  private static Path path(String text) {
    if (text.isEmpty()) {
      throw new IllegalArgumentException("the path is empty");
    }
    return Path.of(text);
  }

  private static String shown(String text) {
    return OneLine.of(text, 40);
  }

  /** Keeps picocli from quoting the value, which may be 10,000 characters long. */
  private static <T> ITypeConverter<T> of(Function<String, T> parser) {
    return text -> {
      try {
        return parser.apply(text);
      } catch (IllegalArgumentException | Misuse e) {
        throw new TypeConversionException(String.valueOf(e.getMessage()));
      }
    };
  }
}
