package dev.cinch.bag;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Fence;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.SignedWitness;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * The grants that a session holds at this moment. Thread-safe; iterators go through one moment's.
 */
@CheckReturnValue
final class Holdings implements Iterable<Holding> {
  /** Added to under its own lock. */
  private final CopyOnWriteArrayList<Holding> held = new CopyOnWriteArrayList<>();

  /** Joined, lost here and dropped, maybe while others held them on; what they wrote counts. */
  private final CopyOnWriteArrayList<Holding> lapsed = new CopyOnWriteArrayList<>();

  /** Guarded by {@link #held}. */
  private boolean closed;

  /**
   * @throws SessionRefusedException if the session was closed
   */
  void add(Holding holding) throws SessionRefusedException {
    synchronized (held) {
      if (closed) {
        throw new SessionRefusedException("the session is closed", null);
      }
      held.add(holding);
    }
  }

  /** From now on none is added: who takes leases at this moment gives them back. */
  void close() {
    synchronized (held) {
      closed = true;
    }
  }

  @Override
  public Iterator<Holding> iterator() {
    return held.iterator();
  }

  /** Those of this moment. */
  List<Holding> now() {
    return List.copyOf(held);
  }

  /** Those held, and before them those joined that lapsed. */
  List<Holding> withLapsed() {
    var all = new ArrayList<>(lapsed);
    all.addAll(held);
    return all;
  }

  void remove(Holding holding) {
    held.remove(holding);
  }

  /**
   * Drops those that were lost.
   *
   * @return whether there were any
   */
  boolean dropLost() {
    return held.removeIf(this::isLost);
  }

  private boolean isLost(Holding holding) {
    boolean lost = holding.lease().remainingNanos() <= 0;
    if (lost && !holding.isOwn()) {
      // Itself and not what it wrote: another thread may be handing over a message under it.
      lapsed.addIfAbsent(holding);
    }
    return lost;
  }

  /** Forgets all, those that lapsed too; none is given back by that. */
  void clear() {
    lapsed.clear();
    held.clear();
  }

  /** What had to be fenced before a lease could be used; {@link Fence#NONE} if it is not held. */
  Fence fence(LeaseName name) {
    for (Holding h : held) {
      for (SignedWitness w : h.lease().witnesses()) {
        if (w.witness().name().equals(name)) {
          return h.fence();
        }
      }
    }
    return Fence.NONE;
  }
}
