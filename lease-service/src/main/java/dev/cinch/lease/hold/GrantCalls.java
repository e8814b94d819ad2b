package dev.cinch.lease.hold;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the holder of a grant asks the service: always in the name of the instance whose witnesses
 * it goes by, since another one may have the leases too (rule L12). Thread-safe.
 */
@CheckReturnValue
final class GrantCalls {
  private static final Logger LOG = LoggerFactory.getLogger(GrantCalls.class);

  private final LeaseService service;
  private final long durationMs;
  private final Supplier<LeaseReport> reports;

  /**
   * @param reports asked before each renewal
   */
  GrantCalls(LeaseService service, long durationMs, Supplier<LeaseReport> reports) {
    this.service = service;
    this.durationMs = durationMs;
    this.reports = reports;
  }

  /** How often the service has begun to ask another server. */
  long moves() {
    return service.moves();
  }

  private static long instanceOf(Grant grant) {
    return grant.witnesses().get(0).witness().instance();
  }

  Grant renew(Grant grant, LogSet addLogs) throws LeaseRefusedException, LeaseUnavailableException {
    LeaseReport report = reports.get().to(instanceOf(grant));
    return service.renew(grant.id(), durationMs, addLogs, report);
  }

  /**
   * Goes on at the instance that answers.
   *
   * @param grant as last answered, which says the most: the logs gained, a fence that is done with
   */
  Grant resume(Grant grant) throws LeaseRefusedException, LeaseUnavailableException {
    Grant resumed = service.resume(new Operation.Resume(grant.id(), grant.witnesses(), durationMs));
    LOG.info(
        "the lease service was restarted: {} goes on at instance {}",
        resumed.witnesses().get(0).witness().name(),
        instanceOf(resumed));
    return resumed;
  }

  Grant upgrade(Grant grant) throws LeaseRefusedException, LeaseUnavailableException {
    return service.upgrade(grant.id(), durationMs);
  }

  void release(Grant grant, LeaseReport last)
      throws LeaseRefusedException, LeaseUnavailableException {
    var release = new Operation.Release(grant.id(), last.to(instanceOf(grant)), true);
    service.carryOut(release).requireDone();
  }
}
