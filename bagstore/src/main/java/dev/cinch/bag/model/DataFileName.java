package dev.cinch.bag.model;

import dev.cinch.lease.Id;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The name of a data file, {@code <machine>-<incarnation>.log}.
 *
 * @param machine who writes it
 * @param incarnation drawn at random when its writer started, never used again
 */
public record DataFileName(MachineName machine, Id incarnation) {
  private static final Pattern SHAPE =
      Pattern.compile("([a-z0-9][a-z0-9._-]{0,62})-([0-9a-f]{32})\\.log");

  /** The parts of a name; empty for a name of another kind. */
  public static Optional<DataFileName> parse(String name) {
    Matcher m = SHAPE.matcher(name);
    if (!m.matches() || Name.isTemporary(name)) {
      return Optional.empty();
    }
    return Optional.of(new DataFileName(new MachineName(m.group(1)), Id.parse(m.group(2))));
  }

  @Override
  public String toString() {
    return machine + "-" + incarnation + ".log";
  }
}
