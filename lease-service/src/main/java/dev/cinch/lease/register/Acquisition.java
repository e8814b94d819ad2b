package dev.cinch.lease.register;

import static dev.cinch.lease.rules.Refusals.invalid;
import static dev.cinch.lease.rules.Refusals.notHeld;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.rules.Inheritance;
import dev.cinch.lease.rules.LeaseRules;
import dev.cinch.lease.rules.LeaseState;
import dev.cinch.lease.rules.Moment;
import dev.cinch.lease.table.LeaseBackend.Setting;
import java.util.List;
import java.util.Optional;

/**
 * Grants one of a request's leases, or finds it granted (rule L17). For one thread, but for what
 * the register's thread calls before the change is done.
 */
@CheckReturnValue
final class Acquisition implements Transitions.Transition {
  private static final long NO_CEILING = Long.MAX_VALUE;

  final LeaseName name;
  private final Setting setting;
  private final LeaseRules rules;
  private final Transitions.Forgotten forgotten;
  private final Operation.Acquire request;
  private final long ceiling;

  private boolean granted;
  private long issuedAt;

  /**
   * @param forgotten what may have been where the register has forgotten
   * @param ceiling the end of a lease at the latest (rule L3)
   */
  Acquisition(
      Setting setting,
      LeaseRules rules,
      Transitions.Forgotten forgotten,
      Operation.Acquire request,
      LeaseName name,
      long ceiling) {
    this.setting = setting;
    this.rules = rules;
    this.forgotten = forgotten;
    this.request = request;
    this.name = name;
    this.ceiling = ceiling;
  }

  @Override
  public Optional<LeaseState> apply(LeaseState lease, Moment at, StateRegister.Found found)
      throws LeaseRefusedException {
    granted = !lease.isKnown() || !lease.id().equals(request.id());
    if (!granted && forgotten.hides(lease, found, at.time())) {
      throw notHeld("the lease on " + name + " expired; acquire anew");
    }
    Moment when = granted ? anew(lease, at) : at;
    issuedAt = when.time();
    return Optional.of(granted ? granted(lease, when, found) : repeated(lease, when));
  }

  /**
   * Later than all before. Else a request that is granted once more, since it was undone or broken,
   * would have two leases of one correlation.
   */
  private static Moment anew(LeaseState lease, Moment at) {
    return lease.isKnown() ? at.at(Math.max(at.time(), lease.changedAt() + 1)) : at;
  }

  private LeaseState granted(LeaseState lease, Moment at, StateRegister.Found found)
      throws LeaseRefusedException {
    long time = at.time();
    Optional<Inheritance> lost =
        found.remembered() ? Optional.empty() : forgotten.lease(found.quietNanos(), time);
    Inheritance unknown = setting.origin();
    if (lost.isPresent()) {
      unknown = unknown.orForgotten(lost.get());
    }
    LeaseState next = lease;
    if (lease.isKnown() && forgotten.hides(lease, found, time) && !lease.excludes(at)) {
      unknown = rules.inheritance(lease, time).orForgotten(unknown);
      next = LeaseState.unknown(lease.name());
    }
    return rules.acquire(request, List.of(next), unknown, at, ceiling).get(0);
  }

  /**
   * The grant once more, for a request that came before. It is written with a later time, by which
   * {@link #undone} sees that a copy of the request was answered. Its expiry stays, so that it
   * needs no ceiling (rule L3).
   */
  private LeaseState repeated(LeaseState lease, Moment at) throws LeaseRefusedException {
    if (lease.state() == LeaseState.State.RELEASED) {
      throw notHeld("this request was granted and released; acquire with a new id");
    }
    if (!lease.isFor(request)) {
      throw invalid("another request had this id");
    }
    Moment later = at.at(Math.max(at.time(), lease.changedAt() + 1));
    return rules
        .renew(renewal(request.id(), 0), !request.tentative(), List.of(lease), later, NO_CEILING)
        .get(0);
  }

  /** Gives it back under another id, by which the request may still be granted later. */
  Optional<LeaseState> undone(LeaseState lease, Moment at) throws LeaseRefusedException {
    if (!lease.isKnown()
        || !lease.belongsTo(request.id())
        || lease.changedAt() != issuedAt
        || !lease.isHeld(at)) {
      return Optional.empty(); // a copy of the request has met it, or it is over
    }
    return rules
        .release(
            new Operation.Release(request.id(), LeaseReport.NOTHING),
            !request.tentative(),
            List.of(lease),
            at)
        .stream()
        .map(LeaseState::disowned)
        .findFirst();
  }

  /** Whether the request did not have the lease before the last change. */
  boolean isGranted() {
    return granted;
  }

  /** Prolongs by so many milliseconds, and changes nothing else. */
  static Operation.Renew renewal(Id id, long durationMs) {
    return new Operation.Renew(id, durationMs, LogSet.NONE, LeaseReport.NOTHING);
  }
}
