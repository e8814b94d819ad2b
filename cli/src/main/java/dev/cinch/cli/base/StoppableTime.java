package dev.cinch.cli.base;

import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.hold.LostAnswers;
import dev.cinch.lease.time.TimeSource;
import org.jspecify.annotations.Nullable;

/**
 * Waits that a signal ends, until {@link #settle} is called: leases that are held by others and
 * fences may be waited for long, and nothing is lost by giving up. Once messages are on their way
 * their verdicts are waited out. Only waits end early, never requests or file operations, so that
 * what was taken can be given back. Thread-safe.
 */
public final class StoppableTime implements TimeSource {
  private final TimeSource time;
  private final Stop stop;
  private volatile boolean settled;

  /** Who waits in a queue of the service's. Guarded by this, as is what follows. */
  private @Nullable Thread queued;

  private boolean interrupted;

  public StoppableTime(TimeSource time, Stop stop) {
    this.time = time;
    this.stop = stop;
    stop.onRequest(this::interrupt);
  }

  /**
   * Asks a service for leases, which may have the request wait for other holders. A signal ends
   * that at once, and so the place in the queue is given up. One thread at a time.
   */
  public LostAnswers.Asking queued(long waitMs) {
    return (service, request) -> {
      boolean waits = begin();
      try {
        return service.acquire(waits ? request.waiting(waitMs) : request);
      } catch (LeaseUnavailableException e) {
        if (end()) {
          throw new InterruptedException("stopped by " + stop.name());
        }
        throw e;
      } finally {
        boolean unused = end();
      }
    };
  }

  private synchronized boolean begin() {
    if (!settled && stop.requested()) {
      return false;
    }
    queued = Thread.currentThread();
    return true;
  }

  /** Whether it was interrupted, which nobody has to know any more. */
  private synchronized boolean end() {
    boolean was = interrupted && Thread.interrupted();
    queued = null;
    interrupted = false;
    return was;
  }

  private synchronized void interrupt() {
    if (!settled && queued != null) {
      interrupted = true;
      queued.interrupt();
    }
  }

  /** From now on waits last as long as they are meant to. */
  public void settle() {
    settled = true;
  }

  /** From now on a signal ends waits again, also one that came before. */
  public void unsettle() {
    settled = false;
  }

  @Override
  public long wallNanos() {
    return time.wallNanos();
  }

  @Override
  public long monotonicNanos() {
    return time.monotonicNanos();
  }

  @Override
  public void sleepNanos(long nanos) throws InterruptedException {
    if (settled) {
      time.sleepNanos(nanos);
    } else if (stop.await(nanos)) {
      throw new InterruptedException("stopped by " + stop.name());
    }
  }
}
