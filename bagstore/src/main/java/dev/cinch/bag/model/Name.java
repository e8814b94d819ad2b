package dev.cinch.bag.model;

import dev.cinch.lease.OneLine;
import java.nio.file.Path;
import java.util.regex.Pattern;

/**
 * The name of something in a store, from what stands above the store on. Its parts are divided by
 * slashes, and a storage need not have those above a document. Immutable.
 *
 * @param text as messages for the user show it: of a directory its path
 */
public record Name(String text) implements Comparable<Name> {
  /**
   * Last parts that begin so are nobody's data: entries made to freshen a listing, files that wait
   * to be linked.
   */
  public static final String TEMPORARY_PREFIX = "tmp-";

  private static final Pattern SCHEME = Pattern.compile("[a-z][a-z0-9+.-]+:");

  /** The name of a file, or of a directory. */
  public static Name of(Path path) {
    return new Name(path.toString());
  }

  /** Whether it is that of a directory: else it begins with the scheme of another storage. */
  public boolean isDirectory() {
    return !SCHEME.matcher(text).lookingAt();
  }

  /** Whether it is of an object store. */
  public boolean isObjects() {
    return text.startsWith("s3:");
  }

  /** The same in this machine's filesystem. */
  public Path path() {
    return Path.of(text);
  }

  /** What stands below this. */
  public Name resolve(String part) {
    return new Name(beginning() + part);
  }

  /** What all begins with that stands below this. */
  private String beginning() {
    return text.isEmpty() || text.endsWith("/") ? text : text + "/";
  }

  /** What this stands in. Of a relative name of one part it has no text. */
  public Name parent() {
    int slash = text.lastIndexOf('/');
    return new Name(slash == 0 ? "/" : text.substring(0, Math.max(0, slash)));
  }

  /** The last part. */
  public String last() {
    return text.substring(text.lastIndexOf('/') + 1);
  }

  /** Whether this is that name, or stands below it. */
  public boolean startsWith(Name above) {
    return equals(above) || text.startsWith(above.beginning());
  }

  /** The parts from what it stands below on. */
  public String within(Name above) {
    return text.substring(above.beginning().length());
  }

  /** Whether what has this last part is nobody's data. */
  public static boolean isTemporary(String last) {
    return last.startsWith(TEMPORARY_PREFIX);
  }

  /** What the names of logs and of machines have in common. */
  static void check(String what, String value, Pattern allowed) {
    if (!allowed.matcher(value).matches() || isTemporary(value)) {
      throw new IllegalArgumentException(
          "not a %s: \"%s\" (%d characters); it has 1 to 63 of a-z 0-9 . _ - and begins with a letter or digit, and not with tmp-"
              .formatted(what, OneLine.of(value, 40), value.length()));
    }
  }

  @Override
  public int compareTo(Name other) {
    return text.compareTo(other.text);
  }

  @Override
  public String toString() {
    return text;
  }
}
