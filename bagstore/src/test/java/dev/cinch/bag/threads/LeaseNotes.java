package dev.cinch.bag.threads;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.threads.Told.Found;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Which leases were granted and given back, and what their holders found when they had taken them,
 * to be compared with what is settled. Thread-safe.
 */
final class LeaseNotes {
  /** What a holder found right after it had taken a lease. */
  private record Look(Witness lease, Set<String> seen) {}

  private final Map<Id, Id> grantOf = new HashMap<>();
  private final Map<Id, List<LeaseReport>> releases = new HashMap<>();
  private final List<Look> looks = new ArrayList<>();

  synchronized void granted(Id id, List<SignedWitness> witnesses) {
    witnesses.forEach(w -> grantOf.put(w.witness().correlation(), id));
  }

  synchronized void released(Id id, LeaseReport report) {
    releases.computeIfAbsent(id, k -> new ArrayList<>()).add(report);
  }

  synchronized void looked(Grant grant, Set<String> seen) {
    grant.witnesses().forEach(w -> looks.add(new Look(w.witness(), seen)));
  }

  synchronized int looks() {
    return looks.size();
  }

  synchronized int releases() {
    return releases.size();
  }

  /** Compares with all that is settled, in any log. */
  synchronized void check(List<Found> found) {
    for (Found f : found) {
      assertTrue(!f.leases().isEmpty(), () -> "under no lease: " + f);
      for (SignedWitness signed : f.leases()) {
        Witness w = signed.witness();
        assertTrue(
            w.lowerBound() < f.timestamp() && f.timestamp() < w.expiry(),
            () -> "outside of " + w + ": " + f);
        Id grant = grantOf.get(w.correlation());
        for (LeaseReport r : releases.getOrDefault(grant, List.of())) {
          assertTrue(
              r.watermark().isPresent() && f.timestamp() <= r.watermark().getAsLong(),
              () -> "above the watermark " + r + ": " + f);
        }
        for (Look look : looks) {
          if (look.lease().name().equals(w.name()) && w.generation() < look.lease().generation()) {
            assertTrue(look.seen().contains(f.text()), () -> "F1: " + look + " missed " + f);
            assertTrue(f.timestamp() <= look.lease().lowerBound(), () -> "F1: " + f);
          }
        }
      }
    }
  }
}
