package dev.cinch.bag.format;

import java.io.IOException;
import java.nio.file.Path;

/**
 * A file does not hold what it must. Names the file, the offset, what was expected and what was
 * found; the message is one line for the user.
 */
public class DamagedException extends IOException {
  private static final long serialVersionUID = 1;

  private final transient Path path;
  private final long offset;
  private final String expected;
  private final String actual;

  /**
   * @param path the damaged file
   * @param offset of the damage in bytes, 0 when it concerns the file as a whole
   */
  public DamagedException(Path path, long offset, String expected, String actual) {
    super(
        "%s: damaged at byte %d: expected %s, found %s".formatted(path, offset, expected, actual));
    this.path = path;
    this.offset = offset;
    this.expected = expected;
    this.actual = actual;
  }

  public Path path() {
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
