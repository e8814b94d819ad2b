package dev.cinch.bag.storage;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.model.InWords;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Waits while a storage is full: bytes, inodes or a quota are one event, whatever was to be made or
 * written. Says so in the log, at first and once a minute. Not thread-safe.
 */
@CheckReturnValue
public final class RoomWait {
  private static final Logger LOG = LoggerFactory.getLogger(RoomWait.class);

  /** How long until the next try. */
  private static final long PAUSE_NANOS = 1_000_000_000L;

  private static final long TOLD_NANOS = 60_000_000_000L;

  private final TimeSource time;
  private final String what;
  private final long most;
  private volatile String why = "";
  private long since;
  private boolean told;
  private long toldAt;

  /** Makes or writes something in the storage. */
  @FunctionalInterface
  public interface Work<T> {
    T run() throws IOException, InterruptedException;
  }

  /**
   * @param what waits, as the log is to say it
   * @param most how long it waits; null: until there is room
   */
  public RoomWait(TimeSource time, String what, @Nullable Duration most) {
    this.time = time;
    this.what = what;
    this.most = most == null ? Long.MAX_VALUE : most.toNanos();
  }

  /** Does the work, again and again until there is room for it. */
  public <T> T until(Work<T> work) throws IOException, InterruptedException {
    while (true) {
      try {
        T done = work.run();
        over();
        return done;
      } catch (IOException e) {
        if (!pause(e)) {
          throw e;
        }
      }
    }
  }

  /**
   * Pauses for a second, or for what is left of the time.
   *
   * @return false, and at once, if the error is another one or the time is over
   */
  public boolean pause(IOException e) throws InterruptedException {
    if (!InWords.isFull(e)) {
      return false;
    }
    long now = time.monotonicNanos();
    if (why.isEmpty()) {
      since = now;
    }
    why = InWords.line(e);
    long waited = now - since;
    if (waited >= most) {
      return false;
    }
    if (!told || now - toldAt >= TOLD_NANOS) {
      told = true;
      toldAt = now;
      LOG.warn("{} waits for room: {} ({} s)", what, why, waited / 1_000_000_000L);
    }
    time.sleepNanos(Math.min(PAUSE_NANOS, most - waited));
    return true;
  }

  /** There is room: what is waited for from now on is another time. */
  public void over() {
    why = "";
  }

  /** Why it waits, one line; empty if it does not. Any thread may ask. */
  public String why() {
    return why;
  }
}
