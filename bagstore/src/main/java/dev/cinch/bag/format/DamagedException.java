package dev.cinch.bag.format;

import dev.cinch.bag.model.Name;
import dev.cinch.lease.OneLine;
import java.io.IOException;

/**
 * A file does not hold what it must. Names the file, the offset, what was expected and what was
 * found; the message is one line for the user.
 */
public class DamagedException extends IOException {
  private static final long serialVersionUID = 1;

  /** Damaged bytes are quoted, but not all of them. */
  private static final int MAX_QUOTED = 400;

  private final transient Name path;
  private final long offset;
  private final String expected;
  private final String actual;

  /**
   * @param path the damaged file
   * @param offset of the damage in bytes, 0 when it concerns the file as a whole
   */
  public DamagedException(Name path, long offset, String expected, String actual) {
    super(
        "%s: damaged at byte %d: expected %s, found %s"
            .formatted(path, offset, quoted(expected), quoted(actual)));
    this.path = path;
    this.offset = offset;
    this.expected = quoted(expected);
    this.actual = quoted(actual);
  }

  private static String quoted(String text) {
    return OneLine.of(text, MAX_QUOTED);
  }

  public Name path() {
    return path;
  }

  public long offset() {
    return offset;
  }

  public String expected() {
    return expected;
  }

  public String actual() {
    return actual;
  }
}
