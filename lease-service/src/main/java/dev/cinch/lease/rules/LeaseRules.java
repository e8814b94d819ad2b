package dev.cinch.lease.rules;

import static dev.cinch.lease.rules.Refusals.held;
import static dev.cinch.lease.rules.Refusals.invalid;
import static dev.cinch.lease.rules.Refusals.notHeld;
import static dev.cinch.lease.rules.Refusals.notYet;
import static dev.cinch.lease.rules.Refusals.otherInstance;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Correlation;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.Witness;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * The rules of a lease (docs/leases.md) that need neither a clock nor a store, as one transition
 * that all backends share: states of names and a request in, their new states out, in the same
 * order. The answer is each state's {@link LeaseState#witness}, or a refusal.
 *
 * <p>One request is all or nothing. So every operation takes the leases on all of its names, in
 * ascending order of names. A backend that can't change several names at once takes them one by
 * one, and undoes. A name of which nothing is known has a {@link LeaseState#unknown}.
 *
 * <p>What stays the backend's: that the leases do not change meanwhile, that time does not go back
 * (rule L6), that a request is known when it comes again, and L11, of which the operations tell.
 * The metadata of a report is taken in by {@link LeaseState#withMetadata}, since it is a hint that
 * a full backend passes over.
 *
 * <p>{@code full} is whether the leases are full as their holder last knew them: if so, one that
 * somebody else has was lost. Ceilings and expiries are nanoseconds since the Unix epoch. Immutable
 * and thread-safe.
 */
@CheckReturnValue
public final class LeaseRules {
  private static final long NANOS_PER_MS = 1_000_000;
  private static final long RETRY_AFTER = 1_000 * NANOS_PER_MS;

  private final long instance;
  private final Id store;
  private final Fence earlier;
  private final WatermarkRule watermarks;
  private final Function<Id, Optional<String>> whyRevoked;

  /**
   * @param instance number of the service instance, from 1
   * @param store that it serves, or {@link Correlation#NO_STORE}
   * @param earlier what earlier instances may have signed
   * @param whyRevoked the reason why a lease of this correlation was revoked, where it is known;
   *     for messages alone
   */
  public LeaseRules(
      long instance,
      Id store,
      Fence earlier,
      WatermarkRule watermarks,
      Function<Id, Optional<String>> whyRevoked) {
    this.instance = instance;
    this.store = store;
    this.earlier = earlier;
    this.watermarks = watermarks;
    this.whyRevoked = whyRevoked;
  }

  /**
   * When leases end that last so long from now.
   *
   * @param ceiling no expiry is above it (rule L3)
   * @throws AboveCeilingException if this one would be
   */
  public static long expiry(Moment now, long durationMs, long ceiling)
      throws LeaseRefusedException {
    long expiry = now.time() + durationMs * NANOS_PER_MS;
    if (expiry > ceiling) {
      throw new AboveCeilingException(expiry, ceiling);
    }
    return expiry;
  }

  /** An expiry would be above the ceiling, and nothing else is in the way. */
  public static final class AboveCeilingException extends LeaseRefusedException {
    private static final long serialVersionUID = 1;

    private final long expiry;

    private AboveCeilingException(long expiry, long ceiling) {
      super(
          Reason.NOT_YET,
          "the service has to publish a higher ceiling first",
          Refusals.millis(ceiling == Long.MIN_VALUE ? RETRY_AFTER : expiry - ceiling));
      this.expiry = expiry;
    }

    /** The expiry, nanoseconds since the Unix epoch. */
    public long expiry() {
      return expiry;
    }
  }

  /**
   * That nobody else has any of the leases.
   *
   * @throws LeaseRefusedException {@code HELD}
   */
  public static void requireFree(List<LeaseState> leases, Moment now) throws LeaseRefusedException {
    for (LeaseState lease : leases) {
      if (lease.excludes(now)) {
        throw held(lease.name(), lease.holder(), lease.leftNanos(now));
      }
    }
  }

  /**
   * Grants leases that a request asks for the first time (rules L1, L2, L4, L8).
   *
   * @param unknown what the first lease of a name of which nothing is known inherits
   * @throws LeaseRefusedException {@code HELD} or {@code NOT_YET}
   */
  public List<LeaseState> acquire(
      Operation.Acquire request,
      List<LeaseState> leases,
      Inheritance unknown,
      Moment now,
      long ceiling)
      throws LeaseRefusedException {
    requireFree(leases, now);
    long time = now.time();
    long expiry = expiry(now, request.durationMs(), ceiling);
    var to = LeaseState.Request.of(request);
    var granted = new ArrayList<LeaseState>(leases.size());
    for (LeaseState lease : leases) {
      Inheritance from = lease.isKnown() ? inheritance(lease, time) : unknown;
      Id correlation = Correlation.of(request.id(), lease.name(), time, store);
      granted.add(lease.granted(to, from, now, expiry, correlation));
    }
    return LogBounds.boundFences(granted, request.names().size());
  }

  /**
   * Those of some leases that a later instance might resume: they are to be ended there before
   * anybody hears of the next leases of their names, if there may be such an instance (rule L11).
   */
  public static List<Unreleased> unended(List<LeaseState> leases) {
    return leases.stream().filter(LeaseState::isUnended).map(LeaseState::unreleased).toList();
  }

  /** What the next holder of the name inherits if this lease ends now at the latest. */
  public Inheritance inheritance(LeaseState lease, long now) {
    return lease.inheritance(now, earlier);
  }

  /**
   * That all leases of a grant are its holder's, and may be prolonged (rules L1, L15).
   *
   * @param id the secret of the grant
   * @throws LeaseRefusedException {@code NOT_HELD}, saying which is not and why
   */
  public void requireHeld(Id id, boolean full, List<LeaseState> leases, Moment now)
      throws LeaseRefusedException {
    requireValid(id, full, leases, now);
    for (LeaseState lease : leases) {
      if (lease.state() == LeaseState.State.ENDED) {
        throw revoked(lease);
      }
    }
  }

  /** The same, also of leases that were revoked and did not expire. */
  private void requireValid(Id id, boolean full, List<LeaseState> leases, Moment now)
      throws LeaseRefusedException {
    for (LeaseState lease : leases) {
      if (!lease.belongsTo(id)) {
        throw notHeld(
            !full && lease.state() != LeaseState.State.RELEASED
                ? "the tentative lease on " + lease.name() + " was broken; acquire anew"
                : "the lease on " + lease.name() + " expired; acquire anew");
      }
      if (!lease.isHeld(now)) {
        if (whyRevoked.apply(lease.correlation()).isPresent()) {
          throw revoked(lease);
        }
        throw notHeld(
            "the lease on "
                + lease.name()
                + " expired "
                + (now.time() - lease.expiry()) / NANOS_PER_MS
                + " ms ago; acquire anew");
      }
    }
  }

  private LeaseRefusedException revoked(LeaseState lease) {
    String why = whyRevoked.apply(lease.correlation()).map(reason -> ": " + reason).orElse("");
    return notHeld("the lease on " + lease.name() + " was revoked" + why + "; acquire anew");
  }

  /**
   * Rule L12, of a report about leases that may not be known: that it is for this instance, if it
   * names one.
   *
   * @throws LeaseRefusedException {@code OTHER_INSTANCE}
   */
  public void requireHere(LeaseReport report) throws LeaseRefusedException {
    requireHere(report, List.of());
  }

  /**
   * Rule L12: a holder that does not go by this instance may use the leases elsewhere, and its
   * request may come twice.
   */
  private void requireHere(LeaseReport report, List<LeaseState> leases)
      throws LeaseRefusedException {
    if (report.instance().isPresent()
        ? report.instance().getAsLong() != instance
        : leases.stream().anyMatch(LeaseState::resumed)) {
      throw otherInstance(instance);
    }
  }

  /**
   * Prolongs the leases of a grant; tentative ones stay so (rules L1, L2, L4, L8, L12).
   *
   * @throws LeaseRefusedException {@code NOT_HELD}, {@code OTHER_INSTANCE}, {@code WATERMARK},
   *     {@code INVALID} for too many logs, or {@code NOT_YET}
   */
  public List<LeaseState> renew(
      Operation.Renew renew, boolean full, List<LeaseState> leases, Moment now, long ceiling)
      throws LeaseRefusedException {
    LeaseReport report = renew.report();
    requireHeld(renew.id(), full, leases, now);
    requireHere(report, leases);
    for (LeaseState lease : leases) {
      watermarks.check(lease, report, now);
    }
    long expiry = expiry(now, renew.durationMs(), ceiling);
    var bounds = new LogBounds(leases.size());
    var renewed = new ArrayList<LeaseState>(leases.size());
    for (LeaseState lease : leases) {
      LogSet widened = bounds.widened(lease.term().logs(), renew.addLogs());
      LeaseState stating = stating(lease, report, now);
      renewed.add(
          (report.fenced() ? stating.fenced(now) : stating).prolonged(widened, now, expiry));
    }
    return renewed;
  }

  private static LeaseState stating(LeaseState lease, LeaseReport report, Moment now) {
    return report.watermark().isPresent()
        ? lease.stating(report.watermark().getAsLong(), now)
        : lease;
  }

  /**
   * Makes the leases of a grant full; those that are already stay so (rule L1).
   *
   * @throws LeaseRefusedException {@code NOT_HELD}, {@code OTHER_INSTANCE} or {@code NOT_YET}
   */
  public List<LeaseState> upgrade(
      Operation.Upgrade upgrade, boolean full, List<LeaseState> leases, Moment now, long ceiling)
      throws LeaseRefusedException {
    requireHeld(upgrade.id(), full, leases, now);
    requireHere(LeaseReport.NOTHING, leases);
    long expiry = expiry(now, upgrade.durationMs(), ceiling);
    return leases.stream()
        .map(lease -> lease.withState(LeaseState.State.FULL))
        .map(lease -> lease.prolonged(lease.term().logs(), now, expiry))
        .toList();
  }

  /**
   * Gives the leases of a grant back, also revoked ones; of one that was tentative those that were
   * broken are passed over (rules L2, L8, L12, L15).
   *
   * @return those that are given back
   * @throws LeaseRefusedException {@code NOT_HELD}, {@code OTHER_INSTANCE} or {@code WATERMARK}
   */
  public List<LeaseState> release(
      Operation.Release release, boolean full, List<LeaseState> leases, Moment now)
      throws LeaseRefusedException {
    LeaseReport report = release.report();
    List<LeaseState> own = leases;
    if (full) {
      requireValid(release.id(), true, leases, now);
    } else {
      own = leases.stream().filter(lease -> lease.belongsTo(release.id())).toList();
    }
    requireHere(report, own);
    for (LeaseState lease : own) {
      watermarks.check(lease, report, now);
    }
    return own.stream()
        .map(lease -> stating(lease, report, now).released(now, report.fenced()))
        .toList();
  }

  /** The names of the leases that a request wants to go on with, in ascending order. */
  public static List<LeaseName> names(Operation.Resume request) {
    return Resumption.witnesses(request).stream().map(Witness::name).toList();
  }

  /** The lease on one of {@link #names} that it wants to go on with. */
  public static Id correlation(Operation.Resume request, int name) {
    return Resumption.witnesses(request).get(name).correlation();
  }

  /**
   * Goes on with leases of an earlier instance, or repeats that (rule L10).
   *
   * @param request whose witnesses are true, full, and of its id
   * @param ended whether their ends are this instance's by now (rule L11)
   * @param forgotten whether a name of which nothing is known may have had a lease here
   * @return empty if their ends have to be brought about first; else the leases, which went on here
   *     before if they were known
   * @throws LeaseRefusedException {@code NOT_HELD} or {@code NOT_YET}
   */
  public Optional<List<LeaseState>> resume(
      Operation.Resume request,
      boolean ended,
      List<LeaseState> leases,
      boolean forgotten,
      Moment now,
      long ceiling)
      throws LeaseRefusedException {
    var resumption = new Resumption(request, leases, now);
    boolean again = resumption.wasDone(forgotten);
    if (!again && !ended) {
      return Optional.empty();
    }
    long expiry = expiry(now, request.durationMs(), ceiling);
    return Optional.of(again ? resumption.prolonged(expiry) : resumption.begun(expiry));
  }

  /**
   * A lease that no other instance will ever resume: it expired, or is to be revoked (rules L11,
   * L15). Empty unless it is that lease, and not ended yet.
   */
  public static Optional<LeaseState> ended(LeaseState lease, Unreleased unreleased) {
    return lease.isUnended() && lease.unreleased().equals(unreleased)
        ? Optional.of(lease.withState(LeaseState.State.ENDED))
        : Optional.empty();
  }

  /**
   * What a revocation of a lease that is held would say (rule L15). Then the backend ends it.
   *
   * @throws LeaseRefusedException {@code NOT_HELD} if there is nothing to revoke
   */
  public Revocation revocable(Operation.Revoke request, LeaseState lease, Moment now)
      throws LeaseRefusedException {
    if (lease.isLeft() && lease.excludes(now)) {
      // Its end would be another instance's, and its holder may go on here at any moment.
      throw notYet(
          "the lease on "
              + lease.name()
              + " is of instance "
              + lease.leftBy()
              + ", and its holder has not shown itself here since the service was started anew",
          RETRY_AFTER);
    }
    if (!lease.excludes(now)
        || request.correlation().filter(c -> !c.equals(lease.correlation())).isPresent()) {
      throw notHeld("nothing to revoke: no such lease on " + lease.name() + " is held");
    }
    return new Revocation(
        request.name(),
        lease.holder(),
        lease.correlation(),
        instance,
        now.time(),
        request.reason());
  }

  /** How many logs the witnesses of one grant name, so that an answer is bounded (rule L4). */
  static final class LogBounds {
    private final int names;
    private int together;

    /**
     * @param names how many leases the grant has
     */
    LogBounds(int names) {
      this.names = names;
    }

    /**
     * The logs of the next lease with others added.
     *
     * @throws LeaseRefusedException {@code INVALID} if they are too many, here or with those before
     */
    LogSet widened(LogSet logs, LogSet add) throws LeaseRefusedException {
      LogSet widened = union(logs, add);
      together += widened.ids().size();
      // At once: all unions could take more memory than there is. Who adds none has no more.
      if (together > Grant.MAX_LOGS) {
        throw invalid(
            "%d leases would name more than %d logs together; add all logs instead"
                .formatted(names, Grant.MAX_LOGS));
      }
      return widened;
    }

    private static LogSet union(LogSet logs, LogSet add) throws LeaseRefusedException {
      if (logs.all() || add.isEmpty()) {
        return logs;
      }
      LogSet both = logs.union(add);
      if (both.ids().size() > Witness.MAX_LOGS) {
        throw invalid(
            "%d logs, more than %d; add all instead"
                .formatted(both.ids().size(), Witness.MAX_LOGS));
      }
      return both.equals(logs) ? logs : both; // shared with what was asked for
    }

    /**
     * Keeps short what the fences of one grant say: those that name too many logs together are for
     * all logs, as one of them is that names too many (rule L4).
     *
     * @param leases of the grant, or some of them: then these get their share
     * @param names how many leases the grant has
     */
    static List<LeaseState> boundFences(List<LeaseState> leases, int names) {
      int most = Grant.MAX_LOGS * leases.size() / Math.max(leases.size(), names);
      int together = 0;
      var bounded = new ArrayList<LeaseState>(leases.size());
      for (LeaseState lease : leases) {
        int named = lease.from().fence().logs().ids().size();
        boolean fits = together + named <= most;
        together += fits ? named : 0;
        bounded.add(fits ? lease : lease.fencingAll());
      }
      return bounded;
    }
  }
}
