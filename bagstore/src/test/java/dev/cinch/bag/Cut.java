package dev.cinch.bag;

import dev.cinch.lease.LeaseHost;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.hold.ForwardingLeases;
import org.jspecify.annotations.Nullable;

/** A lease service behind a network that a test can cut, slow down, or lead to another service. */
final class Cut extends ForwardingLeases {
  volatile LeaseHost service;
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

  Cut(LeaseHost service) {
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
  protected LeaseHost service() throws LeaseUnavailableException {
    if (cut) {
      throw new LeaseUnavailableException("the network is cut", null);
    }
    return service;
  }

  @Override
  public Outcome carryOut(Operation operation) throws LeaseUnavailableException {
    if (operation instanceof Operation.Acquire acquire) {
      run(before);
      return super.carryOut(instead(acquire));
    } else if (operation instanceof Operation.Release) {
      run(beforeRelease);
    }
    Outcome outcome = super.carryOut(operation);
    if (operation instanceof Operation.Renew renew
        && outcome instanceof Outcome.Granted
        && !renew.addLogs().isEmpty()) {
      run(afterRenewal);
    }
    return outcome;
  }

  private Operation.Acquire instead(Operation.Acquire r) {
    LogSet instead = logs;
    return instead == null
        ? r
        : new Operation.Acquire(
            r.id(), r.names(), r.holder(), r.durationMs(), instead, r.tentative(), r.waitMs());
  }
}
