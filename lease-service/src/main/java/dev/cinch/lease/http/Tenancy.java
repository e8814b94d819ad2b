package dev.cinch.lease.http;

import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import java.util.List;

/** The leases of a grant, as a {@link Trail} remembers them. Thread-safe. */
final class Tenancy {
  /** A lease that was granted or prolonged here, and not given back. */
  record Held(LeaseName name, String holder, Id correlation, long generation) {
    static Held of(SignedWitness signed) {
      Witness w = signed.witness();
      return new Held(w.name(), w.holder(), w.correlation(), w.generation());
    }
  }

  final long granted;
  volatile List<Held> leases;
  volatile long expiry;
  volatile boolean full;

  /** Whether it was found to be prolonged by another server, and not by this one since. */
  volatile boolean elsewhere;

  Tenancy(Grant grant) {
    leases = grant.witnesses().stream().map(Held::of).toList();
    granted = grant.witnesses().get(0).witness().issuedAt();
    full = !grant.witnesses().get(0).witness().tentative();
    prolonged(grant);
  }

  void prolonged(Grant grant) {
    expiry = Math.max(expiry, grant.witnesses().get(0).witness().expiry());
    elsewhere = false;
  }
}
