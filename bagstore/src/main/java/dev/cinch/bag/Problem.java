package dev.cinch.bag;

import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.model.InWords;
import dev.cinch.bag.model.LogName;
import java.io.IOException;
import java.util.Optional;

/**
 * Something about a store that somebody has to see to. Immutable.
 *
 * @param log the one that it concerns; empty: the whole store
 * @param message for people: what is wrong, and the remedy where there is one
 * @param cause the error that shows it; empty where nothing failed
 */
public record Problem(
    Kind kind, Optional<LogName> log, String message, Optional<IOException> cause) {

  /** What is wrong; the most urgent first. */
  public enum Kind {
    /** Something was read that is damaged or missing. */
    DAMAGE,
    /** A log can't be read. */
    UNREADABLE,
    /** There is no room, or nothing may be written. */
    DISK,
    /** A bucket is open that could have been settled long ago. */
    CLOSER,
    /** A closer has stopped half-way. */
    INTENT,
    /** What gc was to delete is still there. The aggregator's {@code Retention.blocked} tells. */
    GC,
    /** A clock is off, or a lease server does not know how much it may be. */
    CLOCK,
    /** A lease server does not grant, or files that tell of servers are not theirs. */
    SERVER
  }

  /** A problem of the whole store. */
  public Problem(Kind kind, String message) {
    this(kind, Optional.empty(), message, Optional.empty());
  }

  /** A problem of one log. */
  public Problem(Kind kind, LogName log, String message) {
    this(kind, Optional.of(log), message, Optional.empty());
  }

  /**
   * What an error means.
   *
   * @param otherwise the kind of one that is no {@link Kind#DAMAGE}
   */
  public static Problem of(IOException cause, Kind otherwise, Optional<LogName> log) {
    Kind kind = cause instanceof DamagedException ? Kind.DAMAGE : otherwise;
    return new Problem(kind, log, InWords.line(cause), Optional.of(cause));
  }
}
