package dev.cinch.cli.base;

import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.time.TimeSource;

/** Shows on a terminal that long work goes on; says nothing in a pipe. Not thread-safe. */
public final class Progress {
  private static final long PAUSE_NANOS = 200_000_000;

  /** Moves to the line's beginning and empties it. */
  private static final String CLEAR = "\r\033[K";

  private final Io io;
  private final TimeSource time;
  private boolean shown;
  private long next = Long.MIN_VALUE;
  private long begun;
  private long before = -1;

  public Progress(Io io) {
    this(io, SystemTime.INSTANCE);
  }

  /**
   * @param time its monotonic clock says when to show something again
   */
  public Progress(Io io, TimeSource time) {
    this.io = io;
    this.time = time;
  }

  /**
   * Shows a count, five times a second at most.
   *
   * @param rest what follows the count
   */
  public void show(long count, String rest) {
    if (!io.terminal()) {
      return;
    }
    long now = time.monotonicNanos();
    if (!shown || now - next >= 0) {
      shown = true;
      next = now + PAUSE_NANOS;
      io.err().print(CLEAR + count + rest);
      io.err().flush();
    }
  }

  /**
   * Shows a count, and how long the rest takes if it goes on as since the first time.
   *
   * @param all how many there will be, more or less; 0 if nobody knows
   * @param rest what follows the counts
   */
  public void show(long count, long all, String rest) {
    if (before < 0 && all > 0) {
      before = count;
      begun = time.monotonicNanos();
    }
    boolean known = all > 0 && count > before;
    show(count, (all > 0 ? " of " + all : "") + rest + (known ? left(count, all) : ""));
  }

  private String left(long count, long all) {
    double each = (double) (time.monotonicNanos() - begun) / (count - before);
    long seconds = (long) (Math.max(0, all - count) * each / 1e9);
    return seconds < 60
        ? ", about %d s left".formatted(seconds + 1)
        : ", about %d min left".formatted((seconds + 59) / 60);
  }

  /** Leaves the line empty, for what is said at the end. */
  public void end() {
    if (shown) {
      shown = false;
      io.err().print(CLEAR);
      io.err().flush();
    }
  }
}
