package dev.cinch.bag.audit;

import dev.cinch.bag.model.Name;
import java.io.IOException;

/** Told of everything that {@link Salvage} comes across. Called on one thread. */
public interface SalvageSink {
  /** A message whose checksum is right, in the order of the log. */
  void message(Salvaged message) throws IOException;

  /**
   * Something that was left.
   *
   * @param kind whether it is a loss
   * @param path the file
   * @param offset where it begins, bytes
   * @param length bytes; 0 where it concerns the whole file
   * @param why one line
   */
  void left(Kind kind, Name path, long offset, long length, String why) throws IOException;

  /** Whether what was left is a loss. */
  enum Kind {
    /** Damage: messages may be lost in it. */
    DAMAGE,
    /** Bytes that do not exist for any reader: torn tails, what was written too late. */
    VOID
  }
}
