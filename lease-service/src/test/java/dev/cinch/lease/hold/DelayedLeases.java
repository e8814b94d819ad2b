package dev.cinch.lease.hold;

import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;

/** Another service, whose answers to renewals are long on their way. */
public final class DelayedLeases extends ForwardingLeases {
  private final Runnable onTheWay;

  /**
   * @param onTheWay lets the time pass
   */
  public DelayedLeases(LeaseService service, Runnable onTheWay) {
    super(service);
    this.onTheWay = onTheWay;
  }

  @Override
  public Grant renew(Id id, long durationMs, LogSet addLogs, LeaseReport report)
      throws LeaseRefusedException, LeaseUnavailableException {
    Grant renewed = super.renew(id, durationMs, addLogs, report);
    onTheWay.run();
    return renewed;
  }
}
