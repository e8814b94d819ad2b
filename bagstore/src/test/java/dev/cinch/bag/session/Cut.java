package dev.cinch.bag.session;

import dev.cinch.lease.AcquireRequest;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.hold.ForwardingLeases;
import org.jspecify.annotations.Nullable;

/** A lease service behind a network that a test can cut, slow down, or lead to another service. */
final class Cut extends ForwardingLeases {
  volatile LeaseService service;
  volatile boolean cut;

  /** What happens before a request for leases arrives. */
  volatile Before before = () -> {};

  /** What happens after a renewal that adds logs, before its answer arrives. */
  volatile Before afterRenewal = () -> {};

  /** What happens before a release arrives. */
  volatile Before beforeRelease = () -> {};

  /** For which logs leases are asked instead; null: as the caller says. */
  volatile @Nullable LogSet logs;

  interface Before {
    void run() throws Exception;
  }

  Cut(LeaseService service) {
    super(service);
    this.service = service;
  }

  private static void run(Before what) {
    try {
      what.run();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  protected LeaseService service() throws LeaseUnavailableException {
    if (cut) {
      throw new LeaseUnavailableException("the network is cut", null);
    }
    return service;
  }

  @Override
  public Grant acquire(AcquireRequest request)
      throws LeaseRefusedException, LeaseUnavailableException {
    run(before);
    LogSet instead = logs;
    return super.acquire(
        instead == null
            ? request
            : new AcquireRequest(
                request.id(),
                request.names(),
                request.holder(),
                request.durationMs(),
                instead,
                request.tentative()));
  }

  @Override
  public Grant renew(Id id, long durationMs, LogSet addLogs, LeaseReport report)
      throws LeaseRefusedException, LeaseUnavailableException {
    Grant grant = super.renew(id, durationMs, addLogs, report);
    if (!addLogs.isEmpty()) {
      run(afterRenewal);
    }
    return grant;
  }

  @Override
  public void release(Id id, LeaseReport report)
      throws LeaseRefusedException, LeaseUnavailableException {
    run(beforeRelease);
    super.release(id, report);
  }
}
