package dev.cinch.cli.append;

import dev.cinch.bag.Log;
import dev.cinch.bag.Session;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.bag.write.PendingReceipt;
import dev.cinch.cli.base.Failure;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Hands over messages under a session's leases. When these are lost it takes them anew, if it may
 * wait for that, and goes on with the message that was refused for it, so that the order of the
 * input stays. Thread-safe.
 */
final class LeasedLines implements AppendJob.Submitter {
  /** How long to wait for a renewal, each time; nanoseconds. */
  private static final long PAUSE = 50_000_000L;

  private final Session session;
  private final Log target;
  private final TimeSource time;
  private final long waitNanos;
  private final Taking taking;
  private final Consumer<String> notice;
  private long taken;
  private boolean over;

  /** Takes the leases, after waiting for them as long as it may. */
  @FunctionalInterface
  interface Taking {
    void take()
        throws LeaseRefusedException, LeaseUnavailableException, IOException, InterruptedException;
  }

  /**
   * @param time for waits, which it may end
   * @param wait how long a message waits for leases that are held, and allow it no timestamp before
   *     they are renewed
   * @param notice told in one line what goes on, each time that leases were lost
   */
  LeasedLines(
      Session session,
      Log target,
      TimeSource time,
      Duration wait,
      Taking taking,
      Consumer<String> notice) {
    this.session = session;
    this.target = target;
    this.time = time;
    this.waitNanos = wait.toNanos();
    this.taking = taking;
    this.notice = notice;
  }

  @Override
  public AppendJob.Pending submit(
      byte[] bytes, int offset, int length, AppendJob.@Nullable Pending behind)
      throws MessageRefusedException {
    PendingReceipt follows = behind == null ? null : behind.receipt();
    long start = time.monotonicNanos();
    while (true) {
      long before = taken();
      try {
        return AppendJob.Pending.of(session.submit(target, bytes, offset, length, true, follows));
      } catch (MessageRefusedException e) {
        if (e.isForGood()) {
          throw e;
        }
        if (!takenSince(before, e) && !mayPass(start)) {
          throw e;
        }
      }
    }
  }

  /** Waits a little for leases that are held: shortly before their end they allow no message. */
  private boolean mayPass(long start) {
    synchronized (this) {
      if (over) {
        return false;
      }
    }
    try {
      time.sleepNanos(PAUSE);
    } catch (InterruptedException e) {
      return false; // a signal ended the wait
    }
    return time.monotonicNanos() - start < waitNanos;
  }

  private synchronized long taken() {
    return taken;
  }

  /** Whether a message may be handed over again that was refused. */
  private synchronized boolean takenSince(long before, MessageRefusedException refused)
      throws MessageRefusedException {
    if (taken != before) {
      return true; // another thread met the loss too
    }
    if (over || !session.dropLost()) {
      return false; // no lease was lost, or this was tried
    }
    notice.accept(refused.getMessage() + "; taking it anew");
    over = true;
    try {
      taking.take();
    } catch (LeaseRefusedException | LeaseUnavailableException | IOException e) {
      throw new MessageRefusedException(
          refused.getMessage() + "; not taken anew: " + Failure.of(e).line());
    } catch (InterruptedException e) {
      throw new MessageRefusedException(
          refused.getMessage() + "; stopped before it was taken anew");
    }
    over = false;
    taken++;
    return true;
  }
}
