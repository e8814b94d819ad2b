package dev.cinch.lease.hold;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import java.util.List;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the holder of a grant asks the service: always in the name of the instance whose witnesses
 * it goes by, since another one may have the leases too (rule L12). Thread-safe.
 *
 * @param reports asked before each renewal
 */
@CheckReturnValue
record GrantCalls(LeaseService service, long durationMs, Supplier<LeaseReport> reports) {
  private static final Logger LOG = LoggerFactory.getLogger(GrantCalls.class);

  private static long instanceOf(Grant grant) {
    return grant.witnesses().get(0).witness().instance();
  }

  Grant renew(Grant grant, LogSet addLogs) throws LeaseRefusedException, LeaseUnavailableException {
    LeaseReport report = reports.get().to(instanceOf(grant));
    return same(grant, service.renew(grant.id(), durationMs, addLogs, report));
  }

  /**
   * Goes on at the instance that answers.
   *
   * @param grant as last answered, which says the most: the logs gained, a fence that is done with
   */
  Grant resume(Grant grant) throws LeaseRefusedException, LeaseUnavailableException {
    var resume = new Operation.Resume(grant.id(), grant.witnesses(), durationMs);
    Grant resumed = same(grant, service.resume(resume));
    LOG.info(
        "the lease service was restarted: {} goes on at instance {}",
        resumed.witnesses().get(0).witness().name(),
        instanceOf(resumed));
    return resumed;
  }

  Grant upgrade(Grant grant) throws LeaseRefusedException, LeaseUnavailableException {
    return same(grant, service.upgrade(grant.id(), durationMs));
  }

  void release(Grant grant, LeaseReport last)
      throws LeaseRefusedException, LeaseUnavailableException {
    service.release(grant.id(), last.to(instanceOf(grant)));
  }

  /**
   * Somebody else may have used the id for other leases at a server that has not met this grant:
   * then these were not prolonged.
   */
  private static Grant same(Grant before, Grant after) throws LeaseUnavailableException {
    if (!names(before).equals(names(after))) {
      throw new LeaseUnavailableException(
          "the lease service answers of other leases: " + names(after), null);
    }
    return after;
  }

  private static List<LeaseName> names(Grant grant) {
    return grant.witnesses().stream().map(signed -> signed.witness().name()).sorted().toList();
  }
}
