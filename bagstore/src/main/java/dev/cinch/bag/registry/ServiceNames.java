package dev.cinch.bag.registry;

import dev.cinch.bag.model.Numbered;
import dev.cinch.lease.witness.StoreStatement;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The names of what servers of the lease service leave in a store. */
public final class ServiceNames {
  private ServiceNames() {}

  /** A name that begins with the number of an instance; empty for others. */
  private static <T> Optional<T> parse(Pattern form, String name, Function<Matcher, T> value) {
    Matcher parts = form.matcher(name);
    try {
      return parts.matches() && Numbered.parse(parts.group(1)).isPresent()
          ? Optional.of(value.apply(parts))
          : Optional.empty();
    } catch (NumberFormatException e) {
      return Optional.empty(); // nineteen digits that are no time
    }
  }

  private static long number(Matcher parts, int group) {
    return Long.parseLong(parts.group(group));
  }

  /**
   * The name of a file that says all by its name, {@code <base>.<signature>}: so a listing tells it
   * to all who may list, whatever the file itself is and whoever may open it.
   *
   * @param base what is signed, with the name of its directory before it
   * @param signature as {@link StoreStatement} has it
   */
  public record SignedName(String base, String signature) {
    /** The parts of a name; empty for one that has no place for a signature. */
    public static Optional<SignedName> parse(String name) {
      int dot = name.length() - StoreStatement.DIGITS - 1;
      return dot > 0 && name.charAt(dot) == '.'
          ? Optional.of(new SignedName(name.substring(0, dot), name.substring(dot + 1)))
          : Optional.empty();
    }

    @Override
    public String toString() {
      return base + "." + signature;
    }
  }

  /**
   * {@code <instance>-<ceiling>}: the name of a ceiling (rule L3), nanoseconds since the Unix
   * epoch; below 0 before 1970. With {@code +} for {@code -} it is of an instance of several
   * servers, whose leases nobody resumes (rule L10).
   */
  public record CeilingName(long instance, long ceiling, boolean shared) {
    private static final Pattern FORM = Pattern.compile("([0-9]{10})([-+])(-?[0-9]{1,19})");

    /** The ceiling that a name stands for; empty for a name of another kind. */
    public static Optional<CeilingName> parse(String name) {
      return ServiceNames.parse(
          FORM, name, m -> new CeilingName(number(m, 1), number(m, 3), m.group(2).equals("+")));
    }

    /** Whether a later instance that finds this one needs not find another one of its chain. */
    public boolean covers(CeilingName other) {
      return instance >= other.instance && ceiling >= other.ceiling;
    }

    /** As {@link #parse}, of a name with its signature, whoever made that. */
    public static Optional<CeilingName> ofFile(String name) {
      return SignedName.parse(name).flatMap(signed -> parse(signed.base()));
    }

    @Override
    public String toString() {
      return Numbered.name(instance) + (shared ? "+" : "-") + ceiling;
    }
  }

  /**
   * {@code <instance>+<time>-<digest>}: the name of last words beside the ceilings (rule L19), left
   * at that time by the storage's clock, nanoseconds since the Unix epoch.
   */
  public record WordsName(long instance, long leftAt, String sha256) {
    private static final Pattern FORM =
        Pattern.compile("([0-9]{10})\\+([0-9]{1,18}|[1-9][0-9]{18})-([0-9a-f]{64})");

    /** The words that a name stands for; empty for a name of another kind. */
    public static Optional<WordsName> parse(String name) {
      return ServiceNames.parse(
          FORM, name, m -> new WordsName(number(m, 1), number(m, 2), m.group(3)));
    }

    @Override
    public String toString() {
      return Numbered.name(instance) + "+" + leftAt + "-" + sha256;
    }
  }

  /**
   * {@code <instance>+<server>}: the name of the file that says where one more server of an
   * instance is (rule L9), from 1 to {@link #MOST}, in the order in which they joined.
   */
  public record ServerEntry(long instance, int server) {
    /** The most servers that can join an instance. */
    public static final int MOST = 99;

    private static final Pattern FORM = Pattern.compile("([0-9]{10})\\+(?!00)([0-9]{2})");

    /** The entry that a name stands for; empty for a name of another kind. */
    public static Optional<ServerEntry> parse(String name) {
      return ServiceNames.parse(FORM, name, m -> new ServerEntry(number(m, 1), (int) number(m, 2)));
    }

    @Override
    public String toString() {
      return Numbered.name(instance) + "+" + Numbered.padded(server, 2);
    }
  }

  /** {@code <instance>-<map>-<shard>}: that an instance has this shard, from 1 (rule L16). */
  public record ShardEntry(long instance, long map, int shard) {
    private static final Pattern FORM =
        Pattern.compile("([0-9]{10})-(?!0{10})([0-9]{10})-(?!0000)([0-9]{4})");

    /** The entry that a name stands for; empty for a name of another kind. */
    public static Optional<ShardEntry> parse(String name) {
      return ServiceNames.parse(
          FORM, name, m -> new ShardEntry(number(m, 1), number(m, 2), (int) number(m, 3)));
    }

    @Override
    public String toString() {
      return "%s-%s-%s"
          .formatted(Numbered.name(instance), Numbered.name(map), Numbered.padded(shard, 4));
    }
  }
}
