package dev.cinch.bag.threads;

import dev.cinch.lease.AcquireRequest;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.hold.ForwardingLeases;
import java.io.IOException;
import java.util.List;

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

  WatchedLeases(LeaseService service, Trouble trouble, Grants grants, Releases releases) {
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
  public Grant acquire(AcquireRequest request)
      throws LeaseRefusedException, LeaseUnavailableException {
    meet("acquire", false);
    Grant grant = super.acquire(request);
    grants.granted(grant.id(), grant.witnesses());
    meet("acquire", true);
    return grant;
  }

  @Override
  public Grant renew(Id id, long durationMs, LogSet addLogs, LeaseReport report)
      throws LeaseRefusedException, LeaseUnavailableException {
    meet("renew", false);
    Grant grant = super.renew(id, durationMs, addLogs, report);
    meet("renew", true);
    return grant;
  }

  @Override
  public void release(Id id, LeaseReport report)
      throws LeaseRefusedException, LeaseUnavailableException {
    releases.releasing(id, report);
    meet("release", false);
    super.release(id, report);
    meet("release", true);
  }
}
