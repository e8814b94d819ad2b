package dev.cinch.lease.register;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.memory.MemoryLeaseService;
import dev.cinch.lease.register.LeaseNotary.Limit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps a node of a cell to its own ceilings and its own clock, whoever proposed what it is to
 * sign.
 *
 * <p>It signs no expiry above a ceiling that it has published itself (rule L3). So whatever a
 * client does, one ceiling at least of each majority that signs lies above a lease, and a later
 * instance finds it. What is above has a ceiling published first, by another thread.
 *
 * <p>It signs nothing that begins further ahead of its own time than clocks may be apart, and
 * nothing that lasts for longer than leases do. So a client whose clock is ahead gets no leases,
 * has no ceilings published that everybody would have to wait for, and nobody waits for what it
 * fenced.
 *
 * <p>Thread-safe.
 */
@CheckReturnValue
public final class NodeCeilings implements Limit {
  /**
   * So many signatures wait for a ceiling; what is beyond is asked for again by whoever wants it.
   */
  static final int MOST = 4_096;

  private static final Logger log = LoggerFactory.getLogger(NodeCeilings.class);
  private static final long NANOS_PER_MS = 1_000_000;

  private final long apartNanos;
  private final long longestNanos;
  private final Executor publisher;

  /** Of the node; null until it has started. */
  private volatile @Nullable MemoryLeaseService service;

  /** What waits for a ceiling; and how high that has to be. */
  private final List<Runnable> waiting = new ArrayList<>();

  private long wanted;
  private boolean publishing;

  /** Whether it was said that clocks are too far apart; of the node's thread. */
  private boolean complained;

  /**
   * @param apartMs milliseconds that the clocks of two machines are apart at most
   * @param longestLeaseMs the longest lease of the cell, milliseconds
   * @param publisher runs what waits for the store, one after the other
   */
  public NodeCeilings(long apartMs, long longestLeaseMs, Executor publisher) {
    this.apartNanos = apartMs * NANOS_PER_MS;
    this.longestNanos = longestLeaseMs * NANOS_PER_MS;
    this.publisher = publisher;
  }

  /** Goes by the ceilings of a service from now on; nothing is signed before. */
  public void of(MemoryLeaseService started) {
    service = started;
  }

  @Override
  public boolean allows(long issuedAt, long expiry, Runnable again) {
    MemoryLeaseService by = service;
    if (by == null) {
      return false;
    }
    long latest = by.now() + apartNanos;
    if (issuedAt > latest || expiry > latest + longestNanos) {
      complain(issuedAt - by.now());
      return false;
    }
    if (by.maySign(expiry)) {
      return true;
    }
    later(by, expiry, again);
    return false;
  }

  private void complain(long ahead) {
    if (!complained) {
      complained = true;
      log.warn(
          "a lease is not signed that begins {} ms ahead of this node's time, and {} ms is what"
              + " clocks may be apart; further ones are not told",
          ahead / NANOS_PER_MS,
          apartNanos / NANOS_PER_MS);
    }
  }

  private synchronized void later(MemoryLeaseService by, long expiry, Runnable again) {
    if (waiting.size() < MOST) {
      waiting.add(again);
      wanted = Math.max(wanted, expiry);
    }
    if (!publishing) {
      publishing = true;
      publisher.execute(() -> publish(by));
    }
  }

  private synchronized long wanted() {
    return wanted;
  }

  private void publish(MemoryLeaseService by) {
    boolean reached = false;
    try {
      by.reach(wanted());
      reached = true;
    } catch (LeaseRefusedException e) {
      log.debug("nothing is signed above the last ceiling: {}", e.getMessage());
    } finally {
      List<Runnable> waited = end();
      if (reached) {
        waited.forEach(Runnable::run); // what needs a higher one still comes back here
      } // else whoever wants a signature asks again, which paces this
    }
  }

  private synchronized List<Runnable> end() {
    publishing = false;
    wanted = 0;
    List<Runnable> waited = List.copyOf(waiting);
    waiting.clear();
    return waited;
  }
}
