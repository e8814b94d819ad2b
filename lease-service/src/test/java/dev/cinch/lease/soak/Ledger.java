package dev.cinch.lease.soak;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.Witness;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What holders were told about leases, and whether a lease was granted to two (rule L1). Nothing is
 * asked about grants whose answers nobody heard. Thread-safe.
 */
final class Ledger {
  /** So many leases of a name are remembered. */
  private static final int REMEMBERED = 64;

  /** One lease as its holder knows it. */
  private static final class Lease {
    final Id correlation;
    final long generation;
    final Optional<Id> previous;
    final Ending previousEnding;
    final long issuedAt;

    /** By the holder's monotonic clock: from then on it was surely granted. */
    final long heardAt;

    boolean tentative;
    boolean releaseSent;
    long expiry = Long.MIN_VALUE;

    /** By the holder's monotonic clock: unless released, surely held until then. */
    long surelyUntil;

    Lease(Witness w, long heardAt, long surelyUntil) {
      this.correlation = w.correlation();
      this.generation = w.generation();
      this.previous = w.previous();
      this.previousEnding = w.previousEnding();
      this.issuedAt = w.issuedAt();
      this.heardAt = heardAt;
      this.surelyUntil = surelyUntil;
    }
  }

  /** Leases of one name by their correlation, the oldest first. */
  private static final class Chain extends LinkedHashMap<Id, Lease> {
    private static final long serialVersionUID = 1;

    @Override
    protected boolean removeEldestEntry(Map.Entry<Id, Lease> eldest) {
      return size() > REMEMBERED;
    }
  }

  private final Map<LeaseName, Chain> chains = new HashMap<>();
  private final List<String> violations = new ArrayList<>();
  private long heard;

  /**
   * A grant, a renewal or an upgrade was answered.
   *
   * @param sent the monotonic clock before the request was sent
   * @param received the monotonic clock after the answer came
   * @param durationNanos what was asked for
   */
  synchronized void heard(Witness w, long sent, long received, long durationNanos) {
    heard++;
    Chain chain = chains.computeIfAbsent(w.name(), unused -> new Chain());
    Lease lease = chain.get(w.correlation());
    if (lease == null) {
      lease = new Lease(w, received, sent + durationNanos);
      for (Lease other : chain.values()) {
        compare(w.name(), lease, sent, received, other);
      }
      chain.put(w.correlation(), lease);
    }
    lease.tentative = w.tentative();
    lease.expiry = Math.max(lease.expiry, w.expiry());
    lease.surelyUntil = Math.max(lease.surelyUntil, sent + durationNanos);
    for (Lease other : chain.values()) {
      follows(w.name(), lease, other);
      follows(w.name(), other, lease);
    }
  }

  /** Before a release is sent. */
  synchronized void releasing(LeaseName name, Id correlation) {
    Chain chain = chains.get(name);
    Lease lease = chain == null ? null : chain.get(correlation);
    if (lease != null) {
      lease.releaseSent = true;
    }
  }

  private void compare(LeaseName name, Lease newer, long sent, long received, Lease other) {
    if (newer.generation == other.generation) {
      violations.add(name + ": two leases of generation " + newer.generation);
    }
    if (newer.previous.isPresent() && newer.previous.equals(other.previous)) {
      violations.add(name + ": two leases follow " + newer.previous.get());
    }
    boolean held = other.heardAt - sent <= 0 && received - other.surelyUntil < 0;
    if (held && !other.releaseSent && !other.tentative) {
      violations.add(name + ": granted while " + other.correlation + " was held");
    }
  }

  /** Whether what the later one says about the earlier one can be. */
  private void follows(LeaseName name, Lease later, Lease earlier) {
    if (!later.previous.equals(Optional.of(earlier.correlation)) || earlier.tentative) {
      return;
    }
    if (later.previousEnding == Ending.RELEASED && !earlier.releaseSent) {
      violations.add(name + ": " + earlier.correlation + " counts as released, and never was");
    }
    if (later.previousEnding == Ending.BROKEN && later.issuedAt < earlier.expiry) {
      violations.add(name + ": granted before " + earlier.correlation + " had expired");
    }
  }

  /** What must not be; empty if all is well. */
  synchronized List<String> violations() {
    return List.copyOf(violations);
  }

  /** How many grants, renewals and upgrades of single leases it has heard of. */
  synchronized long heard() {
    return heard;
  }
}
