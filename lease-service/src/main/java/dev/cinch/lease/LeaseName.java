package dev.cinch.lease;

import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The name of a lease: an application's own word for something that one process at a time may own.
 *
 * <p>1 to 255 of the characters {@code A-Z a-z 0-9 . _ : / @ -}, the first a letter or a digit. It
 * maps to nothing in storage (blog post, "Leases for the happy path").
 */
public record LeaseName(String value) implements Comparable<LeaseName> {
  private static final Pattern ALLOWED = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._:/@-]{0,254}");

  /**
   * @throws IllegalArgumentException if the text is not a lease name; the message says what is
   */
  public LeaseName {
    if (!ALLOWED.matcher(value).matches()) {
      throw new IllegalArgumentException(
          "not a lease name: \""
              + OneLine.of(value, 40)
              + "\" ("
              + value.length()
              + " characters); 1 to 255 of A-Z a-z 0-9 . _ : / @ -, the first a letter or digit");
    }
  }

  // Written out: what a record brings is put together at run time, which takes some 15 ms once.

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof LeaseName name && value.equals(name.value);
  }

  @Override
  public int hashCode() {
    return value.hashCode();
  }

  @Override
  public int compareTo(LeaseName other) {
    return value.compareTo(other.value);
  }

  @Override
  public String toString() {
    return value;
  }
}
