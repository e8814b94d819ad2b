package dev.cinch.cli.store;

import dev.cinch.bag.model.LogName;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * Keeps a log that fails slowly from holding up the others: where a lock is missing, who looks for
 * it waits until every cache has expired, each time. Such a log is tried again after nine times as
 * long, so that it takes a tenth of the time at most. Not thread-safe.
 */
final class Patience {
  private static final long SLOW_NANOS = 1_000_000_000;
  private static final int TIMES = 9;

  private record Pause(long since, long nanos) {}

  private final LongSupplier monotonic;
  private final Map<LogName, Pause> pauses = new HashMap<>();

  /**
   * @param monotonic a clock that never steps back, in nanoseconds
   */
  Patience(LongSupplier monotonic) {
    this.monotonic = monotonic;
  }

  /** Now, for {@link #failed}. */
  long now() {
    return monotonic.getAsLong();
  }

  /** Whether a log is to be tried again. */
  boolean isOver(LogName log) {
    Pause pause = pauses.get(log);
    return pause == null || now() - pause.since() >= pause.nanos();
  }

  /** A log's turn began then, and failed. */
  void failed(LogName log, long began) {
    long took = now() - began;
    if (took >= SLOW_NANOS) {
      pauses.put(log, new Pause(now(), TIMES * took));
    }
  }
}
