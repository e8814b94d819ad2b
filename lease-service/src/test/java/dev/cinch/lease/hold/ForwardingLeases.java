package dev.cinch.lease.hold;

import dev.cinch.lease.LeaseHost;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Another service, for tests that change what it says. */
public class ForwardingLeases implements LeaseHost {
  private final LeaseHost service;

  public ForwardingLeases(LeaseHost service) {
    this.service = service;
  }

  /** Who is asked. */
  protected LeaseHost service() throws LeaseUnavailableException {
    return service;
  }

  /** One after the other, for tests that have something happen to one of them. */
  @Override
  public final List<Outcome> carryOut(List<Operation> operations) throws LeaseUnavailableException {
    var outcomes = new ArrayList<Outcome>();
    for (Operation operation : operations) {
      outcomes.add(carryOut(operation));
    }
    return outcomes;
  }

  @Override
  public Outcome carryOut(Operation operation) throws LeaseUnavailableException {
    return service().carryOut(operation);
  }

  @Override
  public Optional<LeaseInfo> show(LeaseName name) throws LeaseUnavailableException {
    return service().show(name);
  }

  @Override
  public List<LeaseInfo> list(String prefix, Optional<LeaseName> after, int limit)
      throws LeaseUnavailableException {
    return service().list(prefix, after, limit);
  }

  @Override
  public long now() throws LeaseUnavailableException {
    return service().now();
  }
}
