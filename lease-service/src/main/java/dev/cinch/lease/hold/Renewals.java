package dev.cinch.lease.hold;

import dev.cinch.lease.time.TimeSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which leases to renew now: several at once, so that one that waits for its answer holds up no
 * other, and never more than a few, so that a service that is slow is not asked by everyone at
 * once. Those whose time ends first go first.
 *
 * <p>Reads the injected clock and has no thread: {@link LeaseKeeper} steps it. {@link #add} from
 * any thread, {@link #step} from one at a time.
 */
final class Renewals {
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

    /** When it wants to be called, by the monotonic clock; read only while it is not under way. */
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
