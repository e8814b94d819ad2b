package dev.cinch.lease.hold;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.time.TimeSource;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs {@link HeldLease#doWork} of any number of held leases on one daemon thread, until closed.
 * Thread-safe. Closing releases nothing.
 */
@CheckReturnValue
public final class LeaseKeeper implements AutoCloseable {
  /** The longest sleep, nanoseconds, so that steps of an injected clock are noticed. */
  private static final long LONGEST_SLEEP = 50_000_000L;

  private static final Logger log = LoggerFactory.getLogger(LeaseKeeper.class);

  private final TimeSource time;
  private final Set<HeldLease> leases = ConcurrentHashMap.newKeySet();
  private final Thread thread;
  private volatile boolean closed;

  /** Starts the thread. */
  public LeaseKeeper(TimeSource time) {
    this.time = time;
    this.thread = new Thread(this::run, "cinch-lease-keeper");
    thread.setDaemon(true);
    thread.start();
  }

  /** Renews this one too, until it is lost or closed. */
  public void keep(HeldLease lease) {
    leases.add(lease);
    LockSupport.unpark(thread);
  }

  private void run() {
    while (!closed) {
      long wait = LONGEST_SLEEP;
      for (HeldLease lease : leases) {
        long next = doWork(lease);
        if (next == Long.MAX_VALUE) {
          leases.remove(lease);
        } else {
          wait = Math.min(wait, next - time.monotonicNanos());
        }
      }
      if (wait > 0) {
        LockSupport.parkNanos(leases.isEmpty() ? LONGEST_SLEEP * 20 : wait);
      }
    }
  }

  private long doWork(HeldLease lease) {
    try {
      return lease.doWork(time.monotonicNanos());
    } catch (RuntimeException e) {
      // A report or a listener failed. The others' leases must not expire for it; this one's
      // deadline still decides.
      log.error("renewing {} failed", lease.witnesses().get(0).witness().name(), e);
      return time.monotonicNanos() + LONGEST_SLEEP;
    }
  }

  /** Ends the thread; a renewal under way is waited for by no one. */
  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(thread);
  }
}
