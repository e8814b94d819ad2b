package dev.cinch.lease.hold;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.time.TimeSource;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Runs {@link HeldLease#doWork} of any number of held leases on daemon threads, until closed: at
 * most {@value #PARALLEL} at once, so that a thousand leases with 5 ms a round trip take a third of
 * a second, and one that gets no answer does not endanger the others. Or on the thread of whoever
 * steps it ({@link #stepped}). Thread-safe. Closing releases nothing.
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
  private final @Nullable ThreadPoolExecutor workers;
  private final @Nullable Thread thread;
  private volatile boolean closed;

  /** Starts the thread that plans; those that renew start with the first renewals. */
  public LeaseKeeper(TimeSource time) {
    var number = new AtomicInteger();
    var renewing =
        new ThreadPoolExecutor(
            PARALLEL,
            PARALLEL,
            IDLE_S,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            task -> daemon(task, "cinch-lease-renewal-" + number.incrementAndGet()));
    renewing.allowCoreThreadTimeOut(true);
    workers = renewing;
    Thread planning = daemon(this::run, "cinch-lease-keeper");
    thread = planning;
    renewals = new Renewals(time, renewing, PARALLEL, () -> LockSupport.unpark(planning));
    planning.start();
  }

  private LeaseKeeper(Renewals renewals) {
    this.renewals = renewals;
    this.workers = null;
    this.thread = null;
  }

  /** One without threads: nothing is renewed but in {@link #doWork}. */
  public static LeaseKeeper stepped(TimeSource time) {
    return new LeaseKeeper(new Renewals(time, Runnable::run, PARALLEL, () -> {}));
  }

  /**
   * Renews what is due, doing the network's I/O on the caller's thread; for a stepped one, by one
   * thread at a time.
   *
   * @return how long it may wait until the next call, nanoseconds; {@link Long#MAX_VALUE} when no
   *     lease is kept
   */
  public long doWork() {
    long renewed = renewals.step();
    return renewals.isEmpty() ? Long.MAX_VALUE : Math.min(renewed, renewals.step());
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
    if (workers != null) {
      workers.shutdown();
    }
  }

  /** Ends the threads; renewals under way are waited for by no one. */
  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(thread);
  }
}
