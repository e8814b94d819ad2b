package dev.cinch.lease.server;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Witness;
import dev.cinch.lease.server.TrailEvent.Kind;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeSet;

/**
 * Which leases ran out, of those that were granted here: nothing else tells that a time is over.
 * Each is looked at once its first time is over, and again while it was prolonged. A renewal costs
 * nothing. Thread-safe.
 */
final class Expiries {
  /** Of the heap a lease has as much as the table and this need for it. */
  private static final int HEAP_PER_LEASE = 4_096;

  /** When to look again where that can't be shown, nanoseconds. */
  private static final long LATER = 1_000_000_000;

  /** Leases that are looked at in one sweep. */
  private static final int LOOKS = 10_000;

  /**
   * A lease, and when to look at it: by the service's time. Of its witness only what an event
   * tells, since the rest may be large.
   */
  private record Due(long at, Id correlation, TrailEvent end) {
    Due later(long later) {
      return new Due(later, correlation, end);
    }
  }

  private final LeaseService service;
  private final long most;
  private final Map<Id, Due> tracked = new HashMap<>();
  private final TreeSet<Due> byTime =
      new TreeSet<>(
          Comparator.comparingLong(Due::at)
              .thenComparingLong(due -> due.correlation().high())
              .thenComparingLong(due -> due.correlation().low()));

  Expiries(LeaseService service) {
    this(service, Runtime.getRuntime().maxMemory() / HEAP_PER_LEASE);
  }

  /**
   * @param most leases; what runs out of others is not told
   */
  Expiries(LeaseService service, long most) {
    this.service = service;
    this.most = most;
  }

  /** Returns whether it is not known. */
  synchronized boolean granted(Witness witness) {
    boolean isNew = !tracked.containsKey(witness.correlation());
    remove(witness.correlation());
    if (tracked.size() < most) {
      TrailEvent end = TrailEvent.of(witness.expiry(), Kind.EXPIRED, witness, null);
      add(new Due(witness.expiry(), witness.correlation(), end));
    }
    return isNew;
  }

  synchronized void released(Witness witness) {
    remove(witness.correlation());
  }

  private void add(Due due) {
    tracked.put(due.correlation(), due);
    boolean unused = byTime.add(due);
  }

  private void remove(Id correlation) {
    Due before = tracked.remove(correlation);
    if (before != null) {
      boolean unused = byTime.remove(before);
    }
  }

  /** Takes those that ran out since the last time; what can't be asked for is asked later. */
  List<TrailEvent> take() {
    var over = new ArrayList<TrailEvent>();
    if (isEmpty()) {
      return over;
    }
    try {
      long now = service.now();
      for (Due due : due(now)) {
        again(due, now + LATER); // so that one that can't be shown is in nobody's way
        Optional<LeaseInfo> found = service.show(name(due));
        if (found.isPresent() && isHeld(found.get(), due)) {
          again(due, Math.max(now + 1, found.get().witness().expiry()));
        } else if (isOver(due) && ranOut(found, due)) {
          over.add(due.end());
        }
      }
    } catch (LeaseUnavailableException e) {
      return over;
    }
    return over;
  }

  private synchronized boolean isEmpty() {
    return byTime.isEmpty();
  }

  private synchronized List<Due> due(long now) {
    var found = new ArrayList<Due>();
    for (Due each : byTime) {
      if (each.at() > now || found.size() == LOOKS) {
        break;
      }
      found.add(each);
    }
    return found;
  }

  private synchronized void again(Due due, long at) {
    if (tracked.containsKey(due.correlation())) {
      remove(due.correlation());
      add(due.later(at));
    }
  }

  /** Forgets it; false if it was given back just now. */
  private synchronized boolean isOver(Due due) {
    boolean here = tracked.containsKey(due.correlation());
    remove(due.correlation());
    return here;
  }

  private static LeaseName name(Due due) {
    return Objects.requireNonNull(due.end().name());
  }

  private static boolean isHeld(LeaseInfo found, Due due) {
    return found.witness().correlation().equals(due.correlation()) && found.state().isHeld();
  }

  /** What is not known any more, or has had several leases since, is not told. */
  private static boolean ranOut(Optional<LeaseInfo> found, Due due) {
    if (found.isEmpty()) {
      return false;
    }
    Witness last = found.get().witness();
    return last.correlation().equals(due.correlation())
        ? found.get().state() == LeaseInfo.State.EXPIRED
        : last.previousEnding() != Ending.RELEASED
            && last.previous().filter(due.correlation()::equals).isPresent();
  }
}
