package dev.cinch.bag.format;

import dev.cinch.bag.model.Name;

/**
 * Something stands in a store where only a file or a directory of Cinch may: a link, a pipe, a
 * socket, a device, a directory for a file or the reverse, or a file with more names than one where
 * it would be changed. It was not opened, followed, changed or removed (rule N7).
 */
public class ForeignEntryException extends DamagedException {
  private static final long serialVersionUID = 1;

  private final String remedy;
  private final boolean file;

  private ForeignEntryException(
      Name path, String expected, String actual, String remedy, boolean file) {
    super(path, 0, expected, actual);
    this.remedy = remedy;
    this.file = file;
  }

  /** A regular file belongs there. */
  public static ForeignEntryException notAFile(Name path, String actual) {
    return new ForeignEntryException(
        path,
        "a regular file",
        actual,
        "it was not opened; put the file back, or remove this",
        false);
  }

  /** A directory belongs there. */
  public static ForeignEntryException notADirectory(Name path, String actual) {
    return new ForeignEntryException(
        path,
        "a directory",
        actual,
        "it was not entered; put the directory itself in its place, or remove this",
        false);
  }

  /** A file that would be changed has names that are not the store's. */
  public static ForeignEntryException manyNames(Name path, long names) {
    return new ForeignEntryException(
        path,
        "a file with one name",
        "one with " + names,
        "it was not changed; remove its other names (find them with: find DIR -samefile "
            + path.last()
            + ")",
        true);
  }

  /** A file of Cinch's may stand there, and its name is not that of one. */
  public static ForeignEntryException notOurs(Name path) {
    return new ForeignEntryException(
        path, "nothing else", "a foreign file", "it was left; remove it", true);
  }

  /** Whether it is a regular file that can be read all the same. */
  public boolean isFile() {
    return file;
  }

  /** One line for the user. */
  @Override
  public String getMessage() {
    return path() + ": expected " + expected() + ", found " + actual() + "; " + remedy;
  }
}
