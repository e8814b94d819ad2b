package dev.cinch.lease.memory;

import static dev.cinch.lease.table.Refusals.invalid;
import static dev.cinch.lease.table.Refusals.notHeld;
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
import dev.cinch.lease.service.InstanceRegistry;
import dev.cinch.lease.table.LeaseBackend;
import dev.cinch.lease.table.LeaseBackend.Tenure;
import dev.cinch.lease.table.LeaseBackend.UnendedException;
import dev.cinch.lease.table.Moment;
import dev.cinch.lease.table.Refusals;
import dev.cinch.lease.time.SignedClock;
import dev.cinch.lease.time.SignedClock.Reading;
import dev.cinch.lease.time.Waits;
import dev.cinch.lease.witness.GrantSigner;
import dev.cinch.lease.witness.WitnessCodec;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The operations on leases up to the signature: what must hold of the request, the clocks, the
 * instance and its ceilings, and then the table. Each takes what it may use of the store. Thread-
 * safe.
 */
final class Operations {
  /**
   * How long whoever asks for leases may still wait for the answer, nanoseconds. What is granted
   * later is held by nobody, and a release of it may have been forgotten.
   */
  private static final long HEARD_FOR = 60_000_000_000L;

  /** How often leases are ended for one request: others may expire meanwhile. */
  private static final int ATTEMPTS_TO_END = 4;

  private static final long NANOS_PER_MS = 1_000_000;
  private static final Logger log = LoggerFactory.getLogger(MemoryLeaseService.class);

  private final LeaseBackend table;
  private final InstanceGuard guard;
  private final SignedClock clock;
  private final BoundRule inTime;
  private final long longestLeaseMs;
  private final Id storeId;

  /**
   * @param inTime what holds of reports by those who know the time
   * @param storeId whose leases may be resumed
   */
  Operations(
      LeaseBackend table,
      InstanceGuard guard,
      SignedClock clock,
      BoundRule inTime,
      long longestLeaseMs,
      Id storeId) {
    this.table = table;
    this.guard = guard;
    this.clock = clock;
    this.inTime = inTime;
    this.longestLeaseMs = longestLeaseMs;
    this.storeId = storeId;
  }

  /** Carries one out and adds what became of it. */
  void carryOut(Operation operation, StoreUse store, Batch to) {
    try {
      if (operation instanceof Operation.Renew renew) {
        to.granted(renew.id(), renew(renew, store));
      } else if (operation instanceof Operation.Acquire acquire) {
        to.granted(acquire.id(), acquire(acquire, store));
      } else if (operation instanceof Operation.Release release) {
        to.add(new Outcome.Released(release(release, store)));
      } else if (operation instanceof Operation.Resume resume) {
        to.granted(resume.id(), resume(resume, store));
      } else if (operation instanceof Operation.Upgrade upgrade) {
        to.granted(upgrade.id(), upgrade(upgrade, store));
      } else {
        to.add(revoke((Operation.Revoke) operation, store));
      }
    } catch (LeaseRefusedException e) {
      to.add(new Outcome.Refused(e));
    }
  }

  private List<Witness> acquire(Operation.Acquire request, StoreUse store)
      throws LeaseRefusedException {
    Checks.check(request, longestLeaseMs);
    guard.requireShard(request.names());
    Reading at = store.read();
    requireClock(at);
    Moment now = inTime.moment(at);
    if (guard.earlier().wholeWaitLeft(at) > 0) {
      requireWaited(request.names(), now, at);
    }
    long duration = request.durationMs() * NANOS_PER_MS;
    if (!guard.isCovered(at, duration)) {
      table.requireFree(request, now);
    }
    long ceiling = permit(at, duration, store);
    List<Witness> witnesses = granted(request, at, ceiling, store);
    guard.noteGranted(at, duration);
    return witnesses;
  }

  private List<Witness> granted(Operation.Acquire request, Reading at, long ceiling, StoreUse store)
      throws LeaseRefusedException {
    for (int attempt = 1; attempt <= ATTEMPTS_TO_END; attempt++) {
      requireHeard(at);
      try {
        return table.acquire(request, inTime.moment(at), ceiling);
      } catch (UnendedException e) {
        store.end(e.tenures());
        table.ended(e.tenures());
      }
    }
    throw Refusals.notYet("others expire as fast as these leases are ended", NANOS_PER_MS);
  }

  private void requireHeard(Reading asked) throws LeaseRefusedException {
    if (clock.read().monotonic() - asked.monotonic() > HEARD_FOR) {
      throw Refusals.notYet("the store took too long to answer; ask again", NANOS_PER_MS);
    }
  }

  private List<Witness> resume(Operation.Resume request, StoreUse store)
      throws LeaseRefusedException {
    store.require();
    Checks.check(request, longestLeaseMs, storeId, inTime.watermarks().aheadNanos());
    guard.requireLatest();
    guard.requireShard(request.witnesses().stream().map(w -> w.witness().name()).toList());
    // Where several machines keep the same leases, none of them has to end here.
    boolean shared = table.isShared(request);
    List<InstanceRegistry.End> ends = shared ? List.of() : guard.ends().resumable(request);
    // Its names are held, so nothing has to pass first, as it may have to for others (rule L3).
    Reading at = store.read();
    long duration = request.durationMs() * NANOS_PER_MS;
    long ceiling = permit(at, duration, store);
    Optional<List<Witness>> witnesses = table.resume(request, false, inTime.moment(at), ceiling);
    if (witnesses.isEmpty()) {
      guard.ends().takeOver(ends);
      requireHeard(at);
      witnesses = table.resume(request, true, inTime.moment(at), ceiling);
    }
    guard.noteGranted(at, duration);
    return witnesses.orElseThrow();
  }

  private List<Witness> renew(Operation.Renew renew, StoreUse store) throws LeaseRefusedException {
    Checks.duration(renew.durationMs(), longestLeaseMs);
    Checks.logs(renew.addLogs());
    Checks.check(renew.report());
    // While the clock has stepped back the service's time stands still. Renewing by it moves no
    // expiry past what was possible before, and spares holders the loss of their leases.
    Reading at = store.read();
    Moment now = inTime.moment(at);
    inTime.watermarks().checkInTime(renew.report(), now); // before anything is changed by it
    try {
      long ceiling = permitKnown(renew.id(), renew.report(), at, renew.durationMs(), store);
      List<Witness> witnesses = table.renew(renew, now, ceiling);
      guard.noteGranted(at, renew.durationMs() * NANOS_PER_MS);
      return witnesses;
    } catch (LeaseRefusedException e) {
      throw orElsewhere(renew.id(), e);
    }
  }

  private List<Witness> upgrade(Operation.Upgrade upgrade, StoreUse store)
      throws LeaseRefusedException {
    Id id = upgrade.id();
    long durationMs = upgrade.durationMs();
    Checks.duration(durationMs, longestLeaseMs);
    Reading at = store.read();
    requireClock(at);
    try {
      long ceiling = permitKnown(id, LeaseReport.NOTHING, at, durationMs, store);
      List<Witness> witnesses = table.upgrade(upgrade, inTime.moment(at), ceiling);
      guard.noteGranted(at, durationMs * NANOS_PER_MS);
      return witnesses;
    } catch (LeaseRefusedException e) {
      throw orElsewhere(id, e);
    }
  }

  /** What is refused for want of a grant, where another shard may have it (rule L16). */
  private LeaseRefusedException orElsewhere(Id id, LeaseRefusedException refused) {
    boolean unknown =
        refused.reason() == Reason.NOT_HELD || refused.reason() == Reason.OTHER_INSTANCE;
    return unknown && guard.shard().map().count() > 1 && !table.knows(id)
        ? Refusals.otherShard(
            "no grant of this id is known here; it may be in another shard of", guard.shard())
        : refused;
  }

  private long permitKnown(Id id, LeaseReport report, Reading at, long durationMs, StoreUse store)
      throws LeaseRefusedException {
    long duration = durationMs * NANOS_PER_MS;
    if (!guard.isCovered(at, duration)) {
      guard.requireLatest();
      table.requireKnown(id, report);
    }
    return permit(at, duration, store);
  }

  /**
   * Rule L18: where other machines go by their own clocks, a machine that may have slept signs
   * nothing before it has looked what time it is.
   */
  private long permit(Reading at, long durationNanos, StoreUse store) throws LeaseRefusedException {
    if (!table.isImmediate()) {
      guard.compared().requireAwake(at);
    }
    return store.permit(at, durationNanos);
  }

  private List<Witness> release(Operation.Release release, StoreUse store)
      throws LeaseRefusedException {
    Checks.check(release.report());
    guard.requireLatest();
    Moment now = inTime.moment(store.read());
    inTime.watermarks().checkInTime(release.report(), now);
    try {
      return table.release(release, now);
    } catch (LeaseRefusedException e) {
      throw orElsewhere(release.id(), e);
    }
  }

  private Outcome revoke(Operation.Revoke request, StoreUse store) throws LeaseRefusedException {
    store.require();
    guard.requireLatest();
    guard.requireShard(List.of(request.name()));
    Reading at = store.read();
    Revocation revocation = table.revocable(request, inTime.moment(at));
    if (table.isResumable()) { // first, so that no later instance takes up what is revoked
      store.end(List.of(new Tenure(request.name().value(), revocation.correlation())));
    }
    Revocation kept = guard.ends().keep(revocation);
    var revoked = new Outcome.Revoked(kept, table.revoked(kept, at.now()));
    log.info(
        "the lease {} on {} of \"{}\" is revoked: {}",
        kept.correlation(),
        kept.name(),
        kept.holder(),
        kept.reason());
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
    if (!table.isImmediate()) {
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

  /**
   * What became of the operations of a batch, in their order, with all witnesses still to be
   * signed. Not thread-safe.
   */
  static final class Batch {
    /** No more operations are begun above this: answers have about half a kilobyte for each. */
    private static final int MOST_WITNESSES = 4_000;

    /** An {@link Outcome} of each, or what is {@link Unsigned} of it. */
    private final List<Object> operations;

    private final List<Witness> unsigned;

    /** Logs that the witnesses name, and their fences. */
    private int logs;

    /**
     * Leases that an operation granted.
     *
     * @param witnesses how many of those to be signed are its; those of earlier ones come before
     */
    private record Unsigned(Id id, int witnesses) {}

    Batch(int operations) {
      this.operations = new ArrayList<>(operations);
      this.unsigned = new ArrayList<>(operations);
    }

    /** Leases as they stand after an operation. */
    void granted(Id id, List<Witness> witnesses) {
      unsigned.addAll(witnesses);
      for (Witness w : witnesses) {
        logs += w.logs().ids().size() + w.fence().logs().ids().size();
      }
      operations.add(new Unsigned(id, witnesses.size()));
    }

    /** Whether its answer is as long as one may be (see {@link Grant#MAX_LOGS}). */
    boolean isFull() {
      return unsigned.size() >= MOST_WITNESSES || logs >= Grant.MAX_LOGS;
    }

    /** What became of an operation that granted nothing. */
    void add(Outcome outcome) {
      operations.add(outcome);
    }

    /** Whether there is anything to sign. */
    boolean hasUnsigned() {
      return !unsigned.isEmpty();
    }

    /** Signs all witnesses together. */
    List<Outcome> signed(GrantSigner signer) {
      List<SignedWitness> signed = unsigned.isEmpty() ? List.of() : signer.sign(unsigned);
      var outcomes = new ArrayList<Outcome>(operations.size());
      int from = 0;
      for (Object operation : operations) {
        if (operation instanceof Unsigned grant) {
          int to = from + grant.witnesses();
          outcomes.add(new Outcome.Granted(new Grant(grant.id(), signed.subList(from, to))));
          from = to;
        } else {
          outcomes.add((Outcome) operation);
        }
      }
      return outcomes;
    }
  }

  /** What a request must be by itself, whatever the table holds. */
  static final class Checks {
    /** The most metadata entries in one report. */
    static final int MAX_METADATA = 100;

    private static final int MAX_DATA_FILE = 255;

    private Checks() {}

    static void check(Operation.Acquire request, long longestLeaseMs) throws LeaseRefusedException {
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
    static void check(Operation.Resume request, long longestLeaseMs, Id store, long aheadNanos)
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

    static void duration(long durationMs, long longestLeaseMs) throws LeaseRefusedException {
      if (durationMs < 1 || durationMs > longestLeaseMs) {
        throw invalid("a lease lasts 1 to " + longestLeaseMs + " ms, not " + durationMs);
      }
    }

    static void logs(LogSet logs) throws LeaseRefusedException {
      if (logs.ids().size() > Witness.MAX_LOGS) {
        throw invalid(
            logs.ids().size() + " logs, more than " + Witness.MAX_LOGS + "; ask for all instead");
      }
    }

    static void check(LeaseReport report) throws LeaseRefusedException {
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
}
