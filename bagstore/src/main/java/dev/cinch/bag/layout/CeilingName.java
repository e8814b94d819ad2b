package dev.cinch.bag.layout;

import java.util.Optional;
import java.util.OptionalLong;

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
