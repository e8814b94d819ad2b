package dev.cinch.lease.instance;

import static dev.cinch.lease.rules.Refusals.invalid;
import static dev.cinch.lease.rules.Refusals.notHeld;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.cinch.lease.Correlation;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.instance.InstanceRegistry.End;
import dev.cinch.lease.instance.Request.Attempt;
import dev.cinch.lease.instance.StoreCalls.StoreNeededException;
import dev.cinch.lease.instance.StoreCalls.StoreNeededException.Kind;
import dev.cinch.lease.rules.LeaseRules;
import dev.cinch.lease.rules.LeaseRules.AboveCeilingException;
import dev.cinch.lease.rules.Moment;
import dev.cinch.lease.rules.Refusals;
import dev.cinch.lease.rules.Unreleased;
import dev.cinch.lease.table.LeaseBackend;
import dev.cinch.lease.table.LeaseBackend.UnendedException;
import dev.cinch.lease.time.SignedClock;
import dev.cinch.lease.time.SignedClock.Reading;
import dev.cinch.lease.time.Waits;
import dev.cinch.lease.witness.TrustedKeys;
import dev.cinch.lease.witness.WitnessCodec;
import dev.cinch.lease.witness.WitnessException;
import dev.cinch.lease.witness.WitnessVerifier;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The operations on leases up to the signature: what must hold of the request, the clocks, the
 * instance and its ceilings, and then the table. None does I/O: what it needs of the store it says,
 * and is tried again from its beginning. Thread-safe.
 */
final class Operations {
  /**
   * How long whoever asks for leases may still wait for the answer, nanoseconds. What is granted
   * later is held by nobody, and a release of it may have been forgotten.
   */
  private static final long HEARD_FOR = 60_000_000_000L;

  /** The most metadata entries in one report. */
  private static final int MAX_METADATA = 100;

  private static final int MAX_DATA_FILE = 255;

  private static final long NANOS_PER_MS = 1_000_000;
  private static final Logger log = LoggerFactory.getLogger(Operations.class);

  private final LeaseBackend table;
  private final InstanceGuard guard;
  private final SignedClock clock;
  private final BoundRule inTime;
  private final long longestLeaseMs;
  private final Id storeId;
  private final Consumer<Reading> publishAhead;

  /**
   * @param inTime what holds of reports by those who know the time
   * @param storeId whose leases may be resumed
   * @param publishAhead has a ceiling published that is due; does not wait for it
   */
  Operations(
      LeaseBackend table,
      InstanceGuard guard,
      SignedClock clock,
      BoundRule inTime,
      long longestLeaseMs,
      Id storeId,
      Consumer<Reading> publishAhead) {
    this.table = table;
    this.guard = guard;
    this.clock = clock;
    this.inTime = inTime;
    this.longestLeaseMs = longestLeaseMs;
    this.storeId = storeId;
    this.publishAhead = publishAhead;
  }

  /**
   * Carries one out and adds what became of it.
   *
   * @throws StoreNeededException if its need is to be met first; then it is to be called again
   */
  void carryOut(Attempt attempt, Batch to) throws StoreNeededException {
    Operation operation = attempt.operation;
    try {
      requireHeard(attempt);
      if (operation instanceof Operation.Renew renew) {
        to.granted(renew.id(), renew(renew, attempt));
      } else if (operation instanceof Operation.Acquire acquire) {
        to.granted(acquire.id(), acquire(acquire, attempt));
      } else if (operation instanceof Operation.Release release) {
        to.add(new Outcome.Released(release(release, attempt)));
      } else if (operation instanceof Operation.Resume resume) {
        to.granted(resume.id(), resume(resume, attempt));
      } else if (operation instanceof Operation.Upgrade upgrade) {
        to.granted(upgrade.id(), upgrade(upgrade, attempt));
      } else {
        to.add(revoke((Operation.Revoke) operation, attempt));
      }
    } catch (LeaseRefusedException e) {
      to.add(new Outcome.Refused(e));
    }
  }

  /** The monotonic clock, nanoseconds. */
  long monotonic() {
    return clock.read().monotonic();
  }

  private void requireHeard(Attempt attempt) throws LeaseRefusedException {
    boolean grants =
        attempt.operation instanceof Operation.Acquire
            || attempt.operation instanceof Operation.Resume;
    boolean late = grants && !attempt.isFirst() && monotonic() - attempt.asked > HEARD_FOR;
    if (!attempt.again() || late) {
      throw Refusals.notYet("the store took too long to answer; ask again", NANOS_PER_MS);
    }
  }

  private List<Witness> acquire(Operation.Acquire request, Attempt attempt)
      throws LeaseRefusedException, StoreNeededException {
    check(request, longestLeaseMs);
    guard.requireShard(request.names());
    Reading at = read(attempt);
    requireClock(at);
    Moment now = inTime.moment(at);
    if (guard.earlier().wholeWaitLeft(at) > 0) {
      requireWaited(request.names(), now, at);
    }
    try {
      List<Witness> witnesses = table.acquire(request, now, permit(at));
      granted(attempt, request.durationMs());
      return witnesses;
    } catch (AboveCeilingException e) {
      attempt.covered = true;
      throw guard.needed(e.expiry(), at);
    } catch (UnendedException e) {
      throw new StoreNeededException(
          Kind.LEASES,
          store -> {
            store.end(e.leases());
            table.ended(e.leases());
          });
    }
  }

  private List<Witness> resume(Operation.Resume request, Attempt attempt)
      throws LeaseRefusedException, StoreNeededException {
    check(request, longestLeaseMs, storeId, inTime.watermarks().aheadNanos());
    guard.requireLatest();
    guard.requireShard(request.witnesses().stream().map(w -> w.witness().name()).toList());
    // Where several machines keep the same leases, none of them has to end here.
    List<End> ends = table.isShared(request) ? List.of() : resumable(request, attempt);
    // Its names are held, so nothing has to pass first, as it may have to for others (rule L3).
    Reading at = read(attempt);
    Moment now = inTime.moment(at);
    try {
      long ceiling = permit(at);
      Optional<List<Witness>> witnesses = table.resume(request, attempt.takenOver, now, ceiling);
      if (witnesses.isPresent()) {
        granted(attempt, request.durationMs());
        return witnesses.get();
      }
      // First the ceiling, after which it is known whether a later instance has them.
      long unused = LeaseRules.expiry(now, request.durationMs(), ceiling);
      throw new StoreNeededException(
          Kind.LEASES,
          store -> {
            store.takeOver(ends);
            attempt.takenOver = true;
          });
    } catch (AboveCeilingException e) {
      attempt.covered = true;
      throw guard.needed(e.expiry(), at);
    }
  }

  /**
   * The leases that a request wants to resume, as far as that is known without looking at their
   * names (rule L10).
   *
   * @throws LeaseRefusedException {@code NOT_HELD} if they can't be resumed
   */
  private List<End> resumable(Operation.Resume request, Attempt attempt)
      throws LeaseRefusedException, StoreNeededException {
    long number = guard.number();
    var ends = new ArrayList<End>();
    for (SignedWitness signed : request.witnesses()) {
      Witness w = signed.witness();
      OptionalLong lastEarlier = guard.lastEarlier(w.name());
      if (w.instance() >= number || w.instance() < lastEarlier.orElse(Long.MAX_VALUE)) {
        // One in between may have granted the name, and would have known nothing of this lease.
        throw notHeld(
            "%s is a lease of instance %d, and instance %d resumes %s; acquire anew"
                .formatted(
                    w.name(),
                    w.instance(),
                    number,
                    lastEarlier.isEmpty()
                        ? "none of an earlier one"
                        : "only those of instance " + lastEarlier.getAsLong()));
      }
      ends.add(new End(w.correlation(), w.instance()));
    }
    TrustedKeys keys = attempt.keys;
    if (keys == null) {
      throw new StoreNeededException(Kind.LEASES, store -> attempt.keys = store.trustedKeys());
    }
    if (!attempt.verified) {
      verify(request, new WitnessVerifier(keys));
      attempt.verified = true;
    }
    return ends;
  }

  private static void verify(Operation.Resume request, WitnessVerifier verifier)
      throws LeaseRefusedException {
    for (SignedWitness signed : request.witnesses()) {
      try {
        if (!verifier.verify(signed.bytes()).witness().equals(signed.witness())) {
          throw notHeld("a witness was altered");
        }
      } catch (WitnessException e) {
        throw notHeld(String.valueOf(e.getMessage()));
      }
    }
  }

  private List<Witness> renew(Operation.Renew renew, Attempt attempt)
      throws LeaseRefusedException, StoreNeededException {
    duration(renew.durationMs(), longestLeaseMs);
    logs(renew.addLogs());
    check(renew.report());
    // While the clock has stepped back the service's time stands still. Renewing by it moves no
    // expiry past what was possible before, and spares holders the loss of their leases.
    Reading at = read(attempt);
    Moment now = inTime.moment(at);
    inTime.watermarks().checkInTime(renew.report(), now); // before anything is changed by it
    try {
      List<Witness> witnesses = table.renew(renew, now, permit(at));
      granted(attempt, renew.durationMs());
      return witnesses;
    } catch (AboveCeilingException e) {
      attempt.covered = true;
      throw guard.needed(e.expiry(), at);
    } catch (LeaseRefusedException e) {
      throw orElsewhere(renew.id(), e);
    }
  }

  private List<Witness> upgrade(Operation.Upgrade upgrade, Attempt attempt)
      throws LeaseRefusedException, StoreNeededException {
    duration(upgrade.durationMs(), longestLeaseMs);
    Reading at = read(attempt);
    requireClock(at);
    try {
      List<Witness> witnesses = table.upgrade(upgrade, inTime.moment(at), permit(at));
      granted(attempt, upgrade.durationMs());
      return witnesses;
    } catch (AboveCeilingException e) {
      attempt.covered = true;
      throw guard.needed(e.expiry(), at);
    } catch (LeaseRefusedException e) {
      throw orElsewhere(upgrade.id(), e);
    }
  }

  /** What is refused for want of a grant, where another shard may have it (rule L16). */
  private LeaseRefusedException orElsewhere(Id id, LeaseRefusedException refused) {
    boolean unknown = refused.reason() == Reason.NOT_HELD || refused.asksToResume();
    return unknown && guard.shard().map().count() > 1 && !table.knows(id)
        ? Refusals.otherShard(
            "no grant of this id is known here; it may be in another shard of", guard.shard())
        : refused;
  }

  /**
   * The clocks. One that was set is compared with the store's first, by whose time the holder may
   * go; once for each operation, and the service's time goes on by the monotonic clock if that
   * fails.
   */
  private Reading read(Attempt attempt) throws StoreNeededException {
    Reading at = clock.read();
    if (guard.hasCeilings()
        && !attempt.clockCompared
        && guard.compared().mustLook(at)
        && !guard.isPutOff(at)) {
      attempt.clockCompared = true;
      throw new StoreNeededException(Kind.CLOCK, StoreCalls::compareClock);
    }
    return at;
  }

  /**
   * Rule L18: where other machines go by their own clocks, a machine that may have slept signs
   * nothing before it has looked what time it is.
   */
  private long permit(Reading at) throws LeaseRefusedException, StoreNeededException {
    if (table.waits()) {
      guard.compared().requireAwake(at);
    }
    long permitted = guard.permit(at);
    if (guard.isDue(at)) {
      publishAhead.accept(at);
    }
    return permitted;
  }

  /** One that had a ceiling published for itself has all it needs until it is prolonged. */
  private void granted(Attempt attempt, long durationMs) {
    if (!attempt.covered) {
      guard.noteGranted(durationMs * NANOS_PER_MS);
    }
  }

  private List<Witness> release(Operation.Release release, Attempt attempt)
      throws LeaseRefusedException, StoreNeededException {
    check(release.report());
    guard.requireLatest();
    Moment now = inTime.moment(read(attempt));
    inTime.watermarks().checkInTime(release.report(), now);
    try {
      return table.release(release, now);
    } catch (LeaseRefusedException e) {
      throw orElsewhere(release.id(), e);
    }
  }

  private Outcome revoke(Operation.Revoke request, Attempt attempt)
      throws LeaseRefusedException, StoreNeededException {
    guard.requireLatest();
    guard.requireShard(List.of(request.name()));
    Reading at = read(attempt);
    Revocation found = attempt.kept;
    if (found == null) {
      Revocation revocation = table.revocable(request, inTime.moment(at));
      throw new StoreNeededException(
          Kind.LEASES,
          store -> {
            if (table.isResumable()) { // first, so that no later instance takes up what is revoked
              store.end(List.of(new Unreleased(request.name().value(), revocation.correlation())));
            }
            Revocation kept = store.keep(revocation);
            attempt.kept = kept;
            if (!table.waits()) { // now: whoever asked may have given up
              long unused = table.revoked(kept, at.now());
            }
          });
    }
    var revoked = new Outcome.Revoked(found, table.revoked(found, at.now()));
    log.info(
        "the lease {} on {} of \"{}\" is revoked: {}",
        found.correlation(),
        found.name(),
        found.holder(),
        found.reason());
    return revoked;
  }

  /** That leases may be granted by what the clocks say and the instance is. */
  void requireClock(Reading at) throws LeaseRefusedException {
    guard.requireLatest();
    if (at.behindNanos() > 0) {
      throw Refusals.notYet(
          "the service's clock stepped back by "
              + Refusals.millis(at.behindNanos())
              + " ms; nothing is granted until it has caught up",
          at.behindNanos());
    }
    if (table.waits()) {
      guard.compared().requireRight(at); // one machine alone goes on by its monotonic clock
    }
    inTime.requireKnown(inTime.moment(at));
  }

  /**
   * That no lease of an earlier instance can be valid any more on these names (rules L3, L19). What
   * was resumed waits for none, unless its holder may go by the earlier one (rule L12).
   */
  private void requireWaited(List<LeaseName> names, Moment now, Reading at)
      throws LeaseRefusedException {
    if (table.isResumedUntilPast(names, now)) {
      requireWaited(at, guard.earlier().wholeWaitLeft(at));
    } else if (!table.knows(names, now)) {
      requireWaited(at);
    }
  }

  /** The same of names of which nothing is known. */
  void requireWaited(Reading at) throws LeaseRefusedException {
    requireWaited(at, guard.earlier().waitLeft(at));
  }

  private static void requireWaited(Reading at, long left) throws LeaseRefusedException {
    if (left > 0) {
      String when = "grants again " + Waits.inWords(left, at.now());
      throw Refusals.notYet("the service was started anew and " + when, left);
    }
  }

  private static void check(Operation.Acquire request, long longestLeaseMs)
      throws LeaseRefusedException {
    int names = request.names().size();
    if (names < 1 || names > Operation.Acquire.MAX_NAMES) {
      throw invalid(
          "a request names 1 to " + Operation.Acquire.MAX_NAMES + " leases, this one " + names);
    }
    var seen = new HashSet<LeaseName>();
    for (LeaseName name : request.names()) {
      if (!seen.add(name)) {
        throw invalid("the request names " + name + " twice");
      }
    }
    try {
      WitnessCodec.holderBytes(request.holder());
    } catch (IllegalArgumentException e) {
      throw invalid(String.valueOf(e.getMessage()));
    }
    duration(request.durationMs(), longestLeaseMs);
    logs(request.logs());
    int logs = request.logs().ids().size();
    if (names * logs > Grant.MAX_LOGS) {
      throw invalid(
          "%d names times %d logs are more than %d; ask for all logs, or for fewer names at once"
              .formatted(names, logs, Grant.MAX_LOGS));
    }
  }

  /**
   * Checks a request to resume.
   *
   * @param aheadNanos how far ahead a watermark may lie (rule L2)
   */
  private static void check(
      Operation.Resume request, long longestLeaseMs, Id store, long aheadNanos)
      throws LeaseRefusedException {
    int names = request.witnesses().size();
    if (names < 1 || names > Operation.Acquire.MAX_NAMES) {
      throw invalid("1 to " + Operation.Acquire.MAX_NAMES + " leases are resumed, not " + names);
    }
    var seen = new HashSet<LeaseName>();
    for (SignedWitness signed : request.witnesses()) {
      Witness w = signed.witness();
      if (!seen.add(w.name())) {
        throw invalid("the request has two witnesses of " + w.name());
      }
      if (w.tentative()) {
        throw notHeld("the lease on " + w.name() + " was tentative; acquire anew");
      }
      if (w.watermark().isTooFarAhead(aheadNanos)) {
        throw notHeld(
            "the watermark of the lease on "
                + w.name()
                + " is too far ahead of its signed time; acquire anew");
      }
      if (!Correlation.isOf(request.id(), w, store)) {
        throw notHeld("the lease on " + w.name() + " was not granted to this id for this store");
      }
    }
    duration(request.durationMs(), longestLeaseMs);
  }

  private static void duration(long durationMs, long longestLeaseMs) throws LeaseRefusedException {
    if (durationMs < 1 || durationMs > longestLeaseMs) {
      throw invalid("a lease lasts 1 to " + longestLeaseMs + " ms, not " + durationMs);
    }
  }

  private static void logs(LogSet logs) throws LeaseRefusedException {
    if (logs.ids().size() > Witness.MAX_LOGS) {
      throw invalid(
          logs.ids().size() + " logs, more than " + Witness.MAX_LOGS + "; ask for all instead");
    }
  }

  private static void check(LeaseReport report) throws LeaseRefusedException {
    if (report.metadata().size() > MAX_METADATA) {
      throw invalid(report.metadata().size() + " metadata entries, more than " + MAX_METADATA);
    }
    for (LeaseReport.Metadata m : report.metadata()) {
      if (m.dataFile().isEmpty()
          || m.dataFile().length() > MAX_DATA_FILE
          || !UTF_8.newEncoder().canEncode(m.dataFile())) {
        throw invalid("a data file's name has 1 to 255 characters of Unicode");
      }
    }
  }
}
