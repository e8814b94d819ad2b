package dev.cinch.lease.hold;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

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

  private final TimeSource time;
  private final Renewals renewals;
  private final @Nullable ThreadPoolExecutor workers;
  private final @Nullable Thread thread;
  private volatile boolean closed;

  /** Starts the thread that plans; those that renew start with the first renewals. */
  public LeaseKeeper(TimeSource time) {
    this.time = time;
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

  private LeaseKeeper(TimeSource time, Renewals renewals) {
    this.time = time;
    this.renewals = renewals;
    this.workers = null;
    this.thread = null;
  }

  /** One without threads: nothing is renewed but in {@link #doWork}. */
  public static LeaseKeeper stepped(TimeSource time) {
    return new LeaseKeeper(time, new Renewals(time, Runnable::run, PARALLEL, () -> {}));
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

  /**
   * Takes leases, all or nothing, and keeps them renewed: for a program that has no store, where
   * nothing is fenced. Give them back with {@link HeldLease#release}.
   *
   * @param holder who it is, in its own words, for people
   * @param lasting how long the leases last without a renewal
   * @param wait how long to wait while others hold one of them, or the service does not answer; 0:
   *     not at all
   * @param listener told what becomes of them
   * @throws LeaseRefusedException the last refusal, which names the holder
   * @throws LeaseUnavailableException if the service did not answer
   * @throws InterruptedException if the thread was interrupted: what may have been granted was
   *     given back, or runs out
   */
  public HeldLease acquire(
      LeaseService service,
      List<LeaseName> names,
      String holder,
      Duration lasting,
      Duration wait,
      LeaseListener listener)
      throws LeaseRefusedException, LeaseUnavailableException, InterruptedException {
    var asks = new LostAnswers(service);
    var waiting = LeaseWait.queued(wait, time, new SecureRandom());
    HeldLease held;
    try {
      held =
          waiting.take(asks, asking -> asks.hold(names, holder, lasting, asking, time, listener));
    } catch (IOException e) {
      throw new UncheckedIOException(e); // asking has none
    }
    keep(held);
    return held;
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

  /**
   * Which leases to renew now: several at once, so that one that waits for its answer holds up no
   * other, and never more than a few, so that a service that is slow is not asked by everyone at
   * once. Those whose time ends first go first.
   *
   * <p>Reads the injected clock and has no thread: {@link LeaseKeeper} steps it. {@link #add} from
   * any thread, {@link #step} from one at a time.
   */
  static final class Renewals {
    /** How soon a lease is looked after again whose renewal was not made, nanoseconds. */
    private static final long RETRY_NANOS = 50_000_000L;

    private static final Logger log = LoggerFactory.getLogger(Renewals.class);

    private final TimeSource time;
    private final Executor executor;
    private final int parallel;
    private final Runnable wake;
    private final Map<HeldLease, Kept> leases = new ConcurrentHashMap<>();
    private final AtomicInteger underWay = new AtomicInteger();

    /** One lease's place in the plan. */
    private static final class Kept {
      final HeldLease lease;

      /**
       * When it wants to be called, by the monotonic clock; read only while it is not under way.
       */
      long next;

      /** Written last by the thread that renewed, so that whoever reads false sees {@code next}. */
      final AtomicBoolean underWay = new AtomicBoolean();

      Kept(HeldLease lease, long next) {
        this.lease = lease;
        this.next = next;
      }
    }

    /**
     * @param executor runs renewals, which block for as long as the network takes
     * @param parallel how many at once, at least 1
     * @param wake called when one has ended: a step may find more to do
     */
    Renewals(TimeSource time, Executor executor, int parallel, Runnable wake) {
      this.time = time;
      this.executor = executor;
      this.parallel = parallel;
      this.wake = wake;
    }

    void add(HeldLease lease) {
      leases.putIfAbsent(lease, new Kept(lease, time.monotonicNanos()));
    }

    boolean isEmpty() {
      return leases.isEmpty();
    }

    /**
     * Starts the renewals that are due, and notices leases whose time has passed, also while one of
     * their renewals is under way.
     *
     * @return how long until the next step at the latest, nanoseconds; {@link Long#MAX_VALUE} if
     *     there is no lease; may be 0 or less
     */
    long step() {
      long now = time.monotonicNanos();
      long wait = Long.MAX_VALUE;
      var due = new ArrayList<Kept>();
      for (Kept kept : leases.values()) {
        expire(kept.lease, now);
        if (kept.lease.state() != HeldLease.State.HELD) {
          // Nothing to do any more; a renewal under way may end when it likes.
          leases.remove(kept.lease);
        } else if (kept.underWay.get()) {
          wait = Math.min(wait, kept.lease.deadline() - now);
        } else if (kept.next - now <= 0) {
          due.add(kept);
        } else {
          wait = Math.min(wait, kept.next - now);
        }
      }
      due.sort(Comparator.comparingLong(kept -> kept.lease.deadline() - now));
      return Math.min(wait, start(due, now));
    }

    private long start(List<Kept> due, long now) {
      for (Kept kept : due) {
        if (underWay.get() >= parallel) {
          // Whatever ends first wakes us; until then there are only deadlines to look at.
          return kept.lease.deadline() - now;
        }
        underWay.incrementAndGet();
        kept.underWay.set(true);
        executor.execute(() -> work(kept));
      }
      return Long.MAX_VALUE;
    }

    private void work(Kept kept) {
      long now = time.monotonicNanos();
      kept.next =
          now + RETRY_NANOS; // Whatever is thrown: a time that has passed is planned for ever.
      try {
        long next = kept.lease.doWork(now);
        if (next == Long.MAX_VALUE) {
          leases.remove(kept.lease);
        }
        kept.next = next;
      } catch (RuntimeException e) {
        kept.next = time.monotonicNanos() + RETRY_NANOS;
        failed(kept.lease, e);
      } finally {
        kept.underWay.set(false);
        underWay.decrementAndGet();
        wake.run();
      }
    }

    private static void expire(HeldLease lease, long now) {
      try {
        lease.expire(now);
      } catch (RuntimeException e) {
        failed(lease, e);
      }
    }

    /**
     * A report or a listener failed. The others' leases must not expire for it; this one's deadline
     * still decides.
     */
    private static void failed(HeldLease lease, RuntimeException e) {
      log.error("renewing {} failed", lease.witnesses().get(0).witness().name(), e);
    }
  }
}
