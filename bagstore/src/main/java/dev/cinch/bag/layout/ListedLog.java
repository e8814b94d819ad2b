package dev.cinch.bag.layout;

import dev.cinch.bag.model.LogName;
import dev.cinch.lease.Id;
import java.util.Optional;

/**
 * The name of an entry in a store's list of logs, {@code <name>@<id>}: a log of this name and id
 * was made, and its identity was durable.
 */
public record ListedLog(LogName name, Id id) {
  private static final char BETWEEN = '@';

  /** The log that an entry lists; empty for a name of another kind. */
  public static Optional<ListedLog> parse(String entry) {
    int at = entry.indexOf(BETWEEN);
    if (at < 0) {
      return Optional.empty();
    }
    try {
      var log =
          new ListedLog(new LogName(entry.substring(0, at)), Id.parse(entry.substring(at + 1)));
      return Optional.of(log).filter(l -> l.toString().equals(entry)); // digits in lower case
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }

  @Override
  public String toString() {
    return name.value() + BETWEEN + id;
  }
}
