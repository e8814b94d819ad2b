package dev.cinch.bag.registry;

import dev.cinch.bag.layout.Numbered;
import dev.cinch.lease.witness.StoreStatement;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The names of what servers of the lease service leave in a store. */
public final class ServiceNames {
  private ServiceNames() {}

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
   * The name of a ceiling's file: {@code <instance>-<ceiling>} (rule L3).
   *
   * @param instance number of the instance of the lease service that published it
   * @param ceiling nanoseconds since the Unix epoch; below 0 before 1970
   */
  public record CeilingName(long instance, long ceiling) {
    private static final int SEPARATOR = 10;
    private static final int LONGEST = 19;

    /** The ceiling that a name stands for; empty for a name of another kind. */
    public static Optional<CeilingName> parse(String name) {
      if (name.length() <= SEPARATOR || name.charAt(SEPARATOR) != '-') {
        return Optional.empty();
      }
      OptionalLong instance = Numbered.parse(name.substring(0, SEPARATOR));
      String digits = name.substring(SEPARATOR + 1);
      if (instance.isEmpty() || !digits.matches("-?[0-9]{1," + LONGEST + "}")) {
        return Optional.empty();
      }
      try {
        return Optional.of(new CeilingName(instance.getAsLong(), Long.parseLong(digits)));
      } catch (NumberFormatException e) {
        return Optional.empty(); // nineteen digits that are no time
      }
    }

    @Override
    public String toString() {
      return Numbered.name(instance) + "-" + ceiling;
    }
  }

  /**
   * The name of the file of an instance's last words: {@code <instance>+<time>-<digest>} beside the
   * ceilings in whose place they go (rule L19).
   *
   * @param instance its number
   * @param leftAt when they were left by the storage's clock, nanoseconds since the Unix epoch
   * @param sha256 of the content, 64 lower-case hexadecimal digits
   */
  public record WordsName(long instance, long leftAt, String sha256) {
    private static final Pattern NAME =
        Pattern.compile("([0-9]{10})\\+([0-9]{1,18}|[1-9][0-9]{18})-([0-9a-f]{64})");

    /** The words that a name stands for; empty for a name of another kind. */
    public static Optional<WordsName> parse(String name) {
      Matcher parts = NAME.matcher(name);
      if (!parts.matches() || Numbered.parse(parts.group(1)).isEmpty()) {
        return Optional.empty();
      }
      try {
        return Optional.of(
            new WordsName(
                Long.parseLong(parts.group(1)), Long.parseLong(parts.group(2)), parts.group(3)));
      } catch (NumberFormatException e) {
        return Optional.empty(); // nineteen digits that are no time
      }
    }

    @Override
    public String toString() {
      return Numbered.name(instance) + "+" + leftAt + "-" + sha256;
    }
  }

  /**
   * The name of the file that says where one more server of an instance is: {@code
   * <instance>+<server>} beside its number (rule L9).
   *
   * @param instance its number
   * @param server 1 to 99, in the order in which they joined
   */
  public record ServerEntry(long instance, int server) {
    /** The most servers that can join an instance. */
    public static final int MOST = 99;

    private static final int NUMBER = 10;
    private static final int SERVER = 2;

    /** The entry that a name stands for; empty for a name of another kind. */
    public static Optional<ServerEntry> parse(String name) {
      if (name.length() != NUMBER + 1 + SERVER || name.charAt(NUMBER) != '+') {
        return Optional.empty();
      }
      OptionalLong instance = Numbered.parse(name.substring(0, NUMBER));
      OptionalLong server = Numbered.parse(name.substring(NUMBER + 1), SERVER);
      return instance.isEmpty() || server.orElse(0) < 1
          ? Optional.empty()
          : Optional.of(new ServerEntry(instance.getAsLong(), (int) server.getAsLong()));
    }

    @Override
    public String toString() {
      return Numbered.name(instance) + "+" + Numbered.padded(server, SERVER);
    }
  }

  /**
   * The name of the file that says which shard an instance of the lease service has: {@code
   * <instance>-<map>-<shard>} beside its number (rule L16).
   *
   * @param instance its number
   * @param map the number of the shard map
   * @param shard from 1
   */
  public record ShardEntry(long instance, long map, int shard) {
    private static final int NUMBER = 10;
    private static final int SHARD = 4;

    /** The entry that a name stands for; empty for a name of another kind. */
    public static Optional<ShardEntry> parse(String name) {
      if (name.length() != 2 * NUMBER + SHARD + 2
          || name.charAt(NUMBER) != '-'
          || name.charAt(2 * NUMBER + 1) != '-') {
        return Optional.empty();
      }
      OptionalLong instance = Numbered.parse(name.substring(0, NUMBER));
      OptionalLong map = Numbered.parse(name.substring(NUMBER + 1, 2 * NUMBER + 1));
      OptionalLong shard = Numbered.parse(name.substring(2 * NUMBER + 2), SHARD);
      return instance.isEmpty() || map.isEmpty() || shard.orElse(0) < 1
          ? Optional.empty()
          : Optional.of(
              new ShardEntry(instance.getAsLong(), map.getAsLong(), (int) shard.getAsLong()));
    }

    @Override
    public String toString() {
      return Numbered.name(instance)
          + "-"
          + Numbered.name(map)
          + "-"
          + Numbered.padded(shard, SHARD);
    }
  }
}
