package dev.cinch.lease.hold;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.time.TimeSource;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Runs {@link HeldLease#doWork} of any number of held leases on daemon threads, until closed: at
 * most {@value #PARALLEL} at once, so that a thousand leases with 5 ms a round trip take a third of
 * a second, and one that gets no answer does not endanger the others. Thread-safe. Closing releases
 * nothing.
 */
@CheckReturnValue
public final class LeaseKeeper implements AutoCloseable {
  /** Renewals under way at once. */
  static final int PARALLEL = 16;

  /** The longest sleep, nanoseconds, so that steps of an injected clock are noticed. */
  private static final long LONGEST_SLEEP = 50_000_000L;

  /** How long a thread without work lives, seconds. */
  private static final long IDLE_S = 10;

  private final Renewals renewals;
  private final ThreadPoolExecutor workers;
  private final Thread thread;
  private volatile boolean closed;

  /** Starts the thread that plans; those that renew start with the first renewals. */
  public LeaseKeeper(TimeSource time) {
    var number = new AtomicInteger();
    workers =
        new ThreadPoolExecutor(
            PARALLEL,
            PARALLEL,
            IDLE_S,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            task -> daemon(task, "cinch-lease-renewal-" + number.incrementAndGet()));
    workers.allowCoreThreadTimeOut(true);
    thread = daemon(this::run, "cinch-lease-keeper");
    renewals = new Renewals(time, workers, PARALLEL, () -> LockSupport.unpark(thread));
    thread.start();
  }

  private static Thread daemon(Runnable task, String name) {
    var thread = new Thread(task, name);
    thread.setDaemon(true);
    return thread;
  }

  /** Renews this one too, until it is lost or closed. */
  public void keep(HeldLease lease) {
    renewals.add(lease);
    LockSupport.unpark(thread);
  }

  private void run() {
    while (!closed) {
      long wait = renewals.step();
      if (wait > 0) {
        LockSupport.parkNanos(
            renewals.isEmpty() ? LONGEST_SLEEP * 20 : Math.min(wait, LONGEST_SLEEP));
      }
    }
    workers.shutdown();
  }

  /** Ends the threads; renewals under way are waited for by no one. */
  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(thread);
  }
}
