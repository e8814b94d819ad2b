package dev.cinch.bag.write;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.store.LogContext;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** Timestamps that one {@link LogWriter} takes and settles. Guarded by its lock. */
@CheckReturnValue
final class WriterTimestamps {
  /**
   * How long to wait for the clock before looking at it again: it may be set meanwhile, and
   * timestamps may be given back.
   */
  private static final long CLOCK_LOOK_NANOS = 500_000_000;

  private final LogContext log;
  private final Timestamps timestamps;
  private final Timestamps.Taken taken = new Timestamps.Taken();
  private final ReentrantLock lock;
  private final long distance;

  /** Looks whether messages are taken still. */
  @FunctionalInterface
  interface Look {
    void refuseIfClosed() throws MessageRefusedException;
  }

  WriterTimestamps(LogContext log, Timestamps timestamps, ReentrantLock lock) {
    this.log = log;
    this.timestamps = timestamps;
    this.lock = lock;
    this.distance = log.store().settings().timestampDistanceNanos();
  }

  /**
   * Step 1: above the lower bound, below the upper one, within the allowed distance of the clock.
   * Pauses instead of writing far into the future, without the lock: others go on meanwhile.
   */
  long next(LeaseStamp stamp, Look look) throws MessageRefusedException {
    boolean interrupted = false;
    // What is older than the log may be from before a fence that was made before the log was.
    long lower =
        stamp == LeaseStamp.NONE ? Long.MIN_VALUE : Math.max(stamp.lowerBound(), log.created());
    try {
      while (true) {
        long timestamp = timestamps.next(taken, lower, stamp.upperBound(), distance);
        if (timestamp != Timestamps.WAIT) {
          if (timestamp >= stamp.upperBound()) {
            throw stamp.tooLate(timestamp);
          }
          return timestamp;
        }
        long wait = timestamps.waitNanos(lower, distance);
        if (lower + 1 >= stamp.upperBound()) {
          throw stamp.noTimestamp(lower);
        }
        lock.unlock();
        try {
          log.store().time().sleepNanos(Math.min(wait, CLOCK_LOOK_NANOS));
        } catch (InterruptedException e) {
          interrupted = true;
        } finally {
          lock.lock();
        }
        look.refuseIfClosed();
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /**
   * Settles those of a batch; one of which no byte was written gives them back.
   *
   * @param left what is still to be written; its last one
   */
  void settle(PendingBatch batch, boolean unwritten, @Nullable PendingBatch left) {
    timestamps.settle(
        taken, unwritten ? Long.MIN_VALUE : batch.last, left == null ? Long.MIN_VALUE : left.last);
  }
}
