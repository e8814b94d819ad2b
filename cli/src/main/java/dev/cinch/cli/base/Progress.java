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

  /** Leaves the line empty, for what is said at the end. */
  public void end() {
    if (shown) {
      shown = false;
      io.err().print(CLEAR);
      io.err().flush();
    }
  }
}
