package dev.cinch.cli.base;

import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;
import picocli.CommandLine.Model.CommandSpec;

/**
 * Tells failures in a line each. One that comes again and again is told once a minute. Not
 * thread-safe.
 */
public final class Complaints {
  private static final long PAUSE_NANOS = 60_000_000_000L;

  /** What differs from one time to the next: random names, and numbers. */
  private static final String VARIES = "[0-9a-f]{8,}|[0-9]+";

  private final Io io;
  private final CommandSpec command;
  private final LongSupplier monotonic;
  private final Map<String, Long> told = new HashMap<>();

  /**
   * @param monotonic a clock that never steps back, in nanoseconds
   */
  public Complaints(Io io, CommandSpec command, LongSupplier monotonic) {
    this.io = io;
    this.command = command;
    this.monotonic = monotonic;
  }

  /**
   * Tells of a failure unless the same was told less than a minute ago.
   *
   * @param of what it is about; two things may fail in the same words
   * @return its exit code
   */
  public int tell(Object of, Throwable e) {
    long now = monotonic.getAsLong();
    told.values().removeIf(at -> now - at >= PAUSE_NANOS);
    Failure failure = Failure.of(e);
    if (told.putIfAbsent(of + "\n" + failure.line().replaceAll(VARIES, "#"), now) != null) {
      return failure.code();
    }
    return io.told(command, e);
  }
}
