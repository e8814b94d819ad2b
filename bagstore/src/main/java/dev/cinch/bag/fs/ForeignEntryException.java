package dev.cinch.bag.fs;

import dev.cinch.bag.format.DamagedException;
import java.nio.file.Path;

/**
 * Something stands in a store where only a file or a directory of Cinch may: a link, a pipe, a
 * socket, a device, a directory for a file or the reverse, or a file with more names than one where
 * it would be changed. It was not opened, followed, changed or removed (rule N7).
 */
public class ForeignEntryException extends DamagedException {
  private static final long serialVersionUID = 1;

  private final String remedy;

  private ForeignEntryException(Path path, String expected, String actual, String remedy) {
    super(path, 0, expected, actual);
    this.remedy = remedy;
  }

  /** A regular file belongs there. */
  static ForeignEntryException notAFile(Path path, String actual) {
    return new ForeignEntryException(
        path, "a regular file", actual, "it was not opened; put the file back, or remove this");
  }

  /** A directory belongs there. */
  static ForeignEntryException notADirectory(Path path, String actual) {
    return new ForeignEntryException(
        path,
        "a directory",
        actual,
        "it was not entered; put the directory itself in its place, or remove this");
  }

  /** A file that would be changed has names that are not the store's. */
  static ForeignEntryException manyNames(Path path, long names) {
    return new ForeignEntryException(
        path,
        "a file with one name",
        "one with " + names,
        "it was not changed; remove its other names (find them with: find DIR -samefile "
            + path.getFileName()
            + ")");
  }

  /** One line for the user. */
  @Override
  public String getMessage() {
    return path() + ": expected " + expected() + ", found " + actual() + "; " + remedy;
  }
}
