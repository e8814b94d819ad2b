package dev.cinch.bag.audit;

import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.model.InWords;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import java.io.IOException;

/**
 * Something that {@link StoreVerifier} came across.
 *
 * @param severity how bad it is
 * @param path the file or directory
 * @param offset in bytes, 0 where it concerns the whole
 * @param expected what should be there
 * @param actual what is
 */
public record Finding(Severity severity, Name path, long offset, String expected, String actual) {
  /** How bad a finding is. */
  public enum Severity {
    /** A reader can't give the right answer, or nobody can prove that it does. */
    DAMAGE,
    /** No answer depends on it: foreign files, torn tails, what was written too late. */
    NOTE
  }

  static Finding damage(Name path, long offset, String expected, String actual) {
    return new Finding(Severity.DAMAGE, path, offset, expected, actual);
  }

  static Finding note(Name path, long offset, String expected, String actual) {
    return new Finding(Severity.NOTE, path, offset, expected, actual);
  }

  /** Something that Cinch did not put there, or that somebody left. */
  static Finding foreign(Name path) {
    String name = path.last();
    return note(
        path,
        0,
        "nothing else",
        Name.isTemporary(name)
            ? "a temporary entry that a crash left"
            : LogLayout.isHeldOpen(name)
                ? "a removed file that a process had open"
                : "a foreign file");
  }

  /** Something that can't be read: damage, named by what the error says of it. */
  static Finding of(IOException e, Name path, String expected) {
    return e instanceof DamagedException d ? of(d) : damage(path, 0, expected, InWords.line(e));
  }

  static Finding of(DamagedException e) {
    return damage(e.path(), e.offset(), e.expected(), e.actual());
  }

  /** One line for the user. */
  @Override
  public String toString() {
    return "%s %s at byte %d: expected %s, found %s"
        .formatted(
            severity.name().toLowerCase(java.util.Locale.ROOT), path, offset, expected, actual);
  }
}
