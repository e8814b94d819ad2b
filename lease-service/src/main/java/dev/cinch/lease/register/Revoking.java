package dev.cinch.lease.register;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.table.LeaseRules;
import dev.cinch.lease.table.LeaseState;
import dev.cinch.lease.table.Moment;
import dev.cinch.lease.table.Revocations;
import dev.cinch.lease.table.Tenure;
import java.util.Optional;

/** Revokes leases of a register (rule L15). Thread-safe. */
@CheckReturnValue
final class Revoking {
  private final LeaseRules rules;
  private final Revocations revocations;
  private final LeaseChanges changes;

  /**
   * @param revocations what this instance has revoked
   */
  Revoking(LeaseRules rules, Revocations revocations, LeaseChanges changes) {
    this.rules = rules;
    this.revocations = revocations;
    this.changes = changes;
  }

  /** What revoking a lease would be; nothing changes. */
  Revocation revocable(Operation.Revoke request, Moment now) throws LeaseRefusedException {
    var found = new Revocation[1];
    var unused =
        changes
            .change(
                request.name(),
                now,
                (lease, at, register) -> {
                  Revocation wanted = rules.revocable(request, lease, at);
                  found[0] =
                      lease.isUnended()
                          ? wanted
                          : revocations.of(lease.correlation()).orElse(wanted);
                  return Optional.empty();
                })
            .await();
    return found[0];
  }

  /** Revokes; returns when the lease ends, signed time. */
  long revoked(Revocation revocation, long now) throws LeaseRefusedException {
    revocations.add(revocation);
    var tenure = new Tenure(revocation.name().value(), revocation.correlation());
    var end = new long[1];
    Optional<LeaseState> unusedState =
        changes
            .change(
                revocation.name(),
                new Moment(now, Moment.UNKNOWN),
                (lease, at, found) -> {
                  boolean same =
                      lease.isKnown() && lease.correlation().equals(revocation.correlation());
                  boolean over = !same || lease.state() == LeaseState.State.RELEASED;
                  end[0] = over ? at.time() : lease.expiry();
                  // Also one that is ended already: what was found alone may be gone (rule L17).
                  boolean unusedEnd = same && LeaseRules.end(lease, tenure);
                  return same ? Optional.of(lease) : Optional.empty();
                })
            .await();
    return end[0];
  }
}
