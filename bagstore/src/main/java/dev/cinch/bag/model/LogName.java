package dev.cinch.bag.model;

import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The name of a log: {@code [a-z0-9][a-z0-9._-]{0,62}}, so that it is one plain file name on every
 * filesystem, and not {@code tmp-…}, for such names are nobody's data. Anything else is refused.
 */
public record LogName(String value) implements Comparable<LogName> {
  private static final Pattern ALLOWED = Pattern.compile("[a-z0-9][a-z0-9._-]{0,62}");

  /**
   * @throws IllegalArgumentException if it is no log name; the message is for the user
   */
  public LogName {
    Name.check("log name", value, ALLOWED);
  }

  // Written out: what a record brings is put together at run time, which takes some 15 ms once.

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof LogName name && value.equals(name.value);
  }

  @Override
  public int hashCode() {
    return value.hashCode();
  }

  @Override
  public int compareTo(LogName other) {
    return value.compareTo(other.value);
  }

  @Override
  public String toString() {
    return value;
  }
}
