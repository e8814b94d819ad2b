package dev.cinch.bag.threads;

import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseHost;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.hold.ForwardingLeases;
import java.io.IOException;
import java.util.List;
import java.util.Locale;

/** A lease service as one session reaches it: with trouble, and with notes of what it was told. */
final class WatchedLeases extends ForwardingLeases {
  /** Told of a request to give leases back, before it is sent. */
  interface Releases {
    void releasing(Id id, LeaseReport report);
  }

  /** Told of leases that were granted. */
  interface Grants {
    void granted(Id id, List<SignedWitness> witnesses);
  }

  private final Trouble trouble;
  private final Grants grants;
  private final Releases releases;

  WatchedLeases(LeaseHost service, Trouble trouble, Grants grants, Releases releases) {
    super(service);
    this.trouble = trouble;
    this.grants = grants;
    this.releases = releases;
  }

  private void meet(String point, boolean after) throws LeaseUnavailableException {
    try {
      trouble.meet(point, after);
    } catch (IOException e) {
      throw new LeaseUnavailableException("made by a test", e);
    }
  }

  @Override
  public Outcome carryOut(Operation operation) throws LeaseUnavailableException {
    String point = operation.getClass().getSimpleName().toLowerCase(Locale.ROOT);
    boolean meets = List.of("acquire", "renew", "release").contains(point);
    if (operation instanceof Operation.Release release) {
      releases.releasing(release.id(), release.report());
    }
    if (meets) {
      meet(point, false);
    }
    Outcome outcome = super.carryOut(operation);
    if (operation instanceof Operation.Acquire && outcome instanceof Outcome.Granted granted) {
      grants.granted(granted.grant().id(), granted.grant().witnesses());
    }
    if (meets && !(outcome instanceof Outcome.Refused)) {
      meet(point, true);
    }
    return outcome;
  }
}
