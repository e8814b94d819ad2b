package dev.cinch.lease.hold;

import dev.cinch.lease.LeaseHost;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;

/** Another service, whose answers to renewals are long on their way. */
public final class DelayedLeases extends ForwardingLeases {
  private final Runnable onTheWay;

  /**
   * @param onTheWay lets the time pass
   */
  public DelayedLeases(LeaseHost service, Runnable onTheWay) {
    super(service);
    this.onTheWay = onTheWay;
  }

  @Override
  public Outcome carryOut(Operation operation) throws LeaseUnavailableException {
    Outcome outcome = super.carryOut(operation);
    if (operation instanceof Operation.Renew && outcome instanceof Outcome.Granted) {
      onTheWay.run();
    }
    return outcome;
  }
}
