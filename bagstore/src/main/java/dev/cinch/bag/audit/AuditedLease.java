package dev.cinch.bag.audit;

import dev.cinch.bag.model.Name;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Witness;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * One lease as all its witnesses and messages tell it: one for each correlation id, however many
 * messages it has. Not thread-safe.
 */
final class AuditedLease {
  /** A message: where its batch (or block of a segment) stands, and its timestamp. */
  record Place(Name path, long offset, long timestamp) {}

  /** Its messages in one log. */
  static final class Use {
    final Place first;
    Place last;

    /** The message with the record that begins lowest, and where that record begins. */
    Place earliestSettled;

    long horizonBefore;

    Use(Place place, long recordFrom) {
      first = place;
      last = place;
      earliestSettled = place;
      horizonBefore = recordFrom;
    }

    void add(Name path, long offset, long timestamp, long recordFrom) {
      if (timestamp > last.timestamp()) {
        last = new Place(path, offset, timestamp);
      }
      if (recordFrom < horizonBefore) {
        horizonBefore = recordFrom;
        earliestSettled = new Place(path, offset, timestamp);
      }
    }
  }

  /**
   * The lease at one instance.
   *
   * @param resumed whether an earlier instance granted it
   */
  private record Tenure(long generation, boolean resumed) {}

  /** By instance; the first is the one that granted it, unless nothing was written under that. */
  private final TreeMap<Long, Tenure> tenures = new TreeMap<>();

  final LeaseName name;
  final Id correlation;
  final Optional<Id> previous;
  final Ending previousEnding;
  final long lowerBound;
  final Map<Id, Use> uses = new TreeMap<>();
  long issuedFirst;
  long expiry;
  long watermark;
  LogSet logs;
  Fence fence;

  AuditedLease(Witness w) {
    name = w.name();
    tenures.put(w.instance(), new Tenure(w.generation(), w.resumed()));
    correlation = w.correlation();
    previous = w.previous();
    previousEnding = w.previousEnding();
    lowerBound = w.lowerBound();
    issuedFirst = w.issuedAt();
    expiry = w.expiry();
    watermark = w.watermark().timestamp();
    logs = w.logs();
    fence = w.fence();
  }

  /**
   * Takes in another witness of the same correlation.
   *
   * @return what it contradicts; null if nothing
   */
  @Nullable String add(Witness w) {
    // Clocks of instances may differ: the time of the first one orders its leases.
    if (w.instance() < instance()) {
      issuedFirst = w.issuedAt();
    } else if (w.instance() == instance()) {
      issuedFirst = Math.min(issuedFirst, w.issuedAt());
    }
    expiry = Math.max(expiry, w.expiry());
    watermark = Math.min(watermark, w.watermark().timestamp());
    logs = logs.union(w.logs());
    fence = fence.and(w.fence());
    boolean same =
        name.equals(w.name())
            && agrees(w)
            && previous.equals(w.previous())
            && previousEnding == w.previousEnding();
    if (!same) {
      return "two witnesses of correlation %s differ: %s generation %d of instance %d, and %s generation %d of instance %d"
          .formatted(
              correlation, name, generation(), instance(), w.name(), w.generation(), w.instance());
    }
    tenures.put(w.instance(), new Tenure(w.generation(), w.resumed()));
    return lowerBound == w.lowerBound()
        ? null
        : "two witnesses of lease %s have lower bounds %d and %d"
            .formatted(this, lowerBound, w.lowerBound());
  }

  /** Whether one instance says one thing, and every one but the first that it resumed the lease. */
  private boolean agrees(Witness w) {
    var tenure = new Tenure(w.generation(), w.resumed());
    Tenure known = tenures.get(w.instance());
    if (known != null) {
      return known.equals(tenure);
    }
    return w.instance() > instance() ? w.resumed() : tenures.firstEntry().getValue().resumed();
  }

  /** The first instance that messages name. */
  long instance() {
    return tenures.firstKey();
  }

  /** The last one, which it was resumed at, unless that is the first. */
  long lastInstance() {
    return tenures.lastKey();
  }

  /** At the first instance. */
  long generation() {
    return tenures.firstEntry().getValue().generation();
  }

  /** Whether nothing was written under it at the instance that granted it. */
  boolean grantedEarlier() {
    return tenures.firstEntry().getValue().resumed();
  }

  void message(Id log, Name path, long offset, long timestamp, long recordFrom) {
    Use use = uses.get(log);
    if (use == null) {
      uses.put(log, new Use(new Place(path, offset, timestamp), recordFrom));
    } else {
      use.add(path, offset, timestamp, recordFrom);
    }
  }

  /** Its message with the lowest timestamp of those met first in each log. */
  Place first() {
    return uses.values().stream()
        .map(u -> u.first)
        .min(java.util.Comparator.comparingLong(Place::timestamp))
        .orElseThrow();
  }

  /** Its last message in any log. */
  Place last() {
    return uses.values().stream()
        .map(u -> u.last)
        .max(java.util.Comparator.comparingLong(Place::timestamp))
        .orElseThrow();
  }

  @Override
  public String toString() {
    return name + " generation " + generation() + " of instance " + instance();
  }
}
