package dev.cinch.cli.base;

import java.util.function.LongSupplier;

/**
 * Says on a terminal, once, what a command waits for that has waited for two seconds; says nothing
 * in a pipe. Not thread-safe.
 */
public final class LongWait {
  /** Nobody wonders before that. */
  public static final long NANOS = 2_000_000_000L;

  private final Io io;
  private final String command;
  private final LongSupplier monotonic;
  private long since;
  private boolean told;

  /**
   * @param monotonic a clock that never steps back, in nanoseconds; the wait begins now
   */
  public LongWait(Io io, String command, LongSupplier monotonic) {
    this.io = io;
    this.command = command;
    this.monotonic = monotonic;
    this.since = monotonic.getAsLong();
  }

  /** What is said. */
  @FunctionalInterface
  public interface Line<E extends Exception> {
    String get() throws E;
  }

  /**
   * To be called again and again while it waits.
   *
   * @param what a line; asked for only where it is said
   */
  public <E extends Exception> void goesOn(Line<E> what) throws E {
    if (io.terminal() && !told && monotonic.getAsLong() - since >= NANOS) {
      told = true;
      io.say(command, what.get());
    }
  }
}
