package dev.cinch.lease.memory;

import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.Witness;
import dev.cinch.lease.service.InstanceRegistry;
import dev.cinch.lease.table.LeaseBackend;
import dev.cinch.lease.table.Moment;
import dev.cinch.lease.table.Refusals;
import dev.cinch.lease.table.Tenure;
import dev.cinch.lease.table.UnendedException;
import dev.cinch.lease.time.SignedClock;
import dev.cinch.lease.time.SignedClock.Reading;
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
  <X extends Exception> void carryOut(Operation operation, StoreUse<X> store, Batch to) throws X {
    try {
      if (operation instanceof Operation.Renew renew) {
        to.granted(renew.id(), renew(renew, store));
      } else if (operation instanceof Operation.Acquire acquire) {
        to.granted(acquire.id(), acquire(acquire, store));
      } else if (operation instanceof Operation.Release release) {
        release(release, store);
        to.add(Outcome.RELEASED);
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

  private <X extends Exception> List<Witness> acquire(Operation.Acquire request, StoreUse<X> store)
      throws LeaseRefusedException, X {
    Requests.check(request, longestLeaseMs);
    guard.requireShard(request.names());
    Reading at = store.read();
    requireClock(at);
    Moment now = inTime.moment(at);
    if (guard.quarantineLeft(at) > 0 && !table.knows(request.names(), now)) {
      requireWaited(at); // what was resumed waits for no earlier instance's leases
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

  private <X extends Exception> List<Witness> granted(
      Operation.Acquire request, Reading at, long ceiling, StoreUse<X> store)
      throws LeaseRefusedException, X {
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

  private <X extends Exception> List<Witness> resume(Operation.Resume request, StoreUse<X> store)
      throws LeaseRefusedException, X {
    store.require();
    Requests.check(request, longestLeaseMs, storeId, inTime.aheadNanos());
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

  private <X extends Exception> List<Witness> renew(Operation.Renew renew, StoreUse<X> store)
      throws LeaseRefusedException, X {
    Requests.duration(renew.durationMs(), longestLeaseMs);
    Requests.logs(renew.addLogs());
    Requests.check(renew.report());
    // While the clock has stepped back the service's time stands still. Renewing by it moves no
    // expiry past what was possible before, and spares holders the loss of their leases.
    Reading at = store.read();
    Moment now = inTime.moment(at);
    inTime.check(renew.report(), now);
    try {
      long ceiling = permitKnown(renew.id(), renew.report(), at, renew.durationMs(), store);
      List<Witness> witnesses = table.renew(renew, now, ceiling);
      guard.noteGranted(at, renew.durationMs() * NANOS_PER_MS);
      return witnesses;
    } catch (LeaseRefusedException e) {
      throw orElsewhere(renew.id(), e);
    }
  }

  private <X extends Exception> List<Witness> upgrade(Operation.Upgrade upgrade, StoreUse<X> store)
      throws LeaseRefusedException, X {
    Id id = upgrade.id();
    long durationMs = upgrade.durationMs();
    Requests.duration(durationMs, longestLeaseMs);
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

  private <X extends Exception> long permitKnown(
      Id id, LeaseReport report, Reading at, long durationMs, StoreUse<X> store)
      throws LeaseRefusedException, X {
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
  private <X extends Exception> long permit(Reading at, long durationNanos, StoreUse<X> store)
      throws LeaseRefusedException, X {
    if (!table.isImmediate()) {
      guard.compared().requireAwake(at);
    }
    return store.permit(at, durationNanos);
  }

  private <X extends Exception> void release(Operation.Release release, StoreUse<X> store)
      throws LeaseRefusedException, X {
    Requests.check(release.report());
    Moment now = inTime.moment(store.read());
    inTime.check(release.report(), now);
    try {
      table.release(release, now, guard::requireLatest);
    } catch (LeaseRefusedException e) {
      throw orElsewhere(release.id(), e);
    }
  }

  private <X extends Exception> Outcome revoke(Operation.Revoke request, StoreUse<X> store)
      throws LeaseRefusedException, X {
    store.require();
    guard.requireLatest();
    guard.requireShard(List.of(request.name()));
    Reading at = store.read();
    Revocation revocation = table.revocable(request, inTime.moment(at));
    // First, so that no later instance takes up what is told to be revoked.
    store.end(List.of(new Tenure(request.name().value(), revocation.correlation())));
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

  /** That no lease of an earlier instance can be valid any more (rule L3). */
  void requireWaited(Reading at) throws LeaseRefusedException {
    long left = guard.quarantineLeft(at);
    if (left > 0) {
      throw Refusals.notYet("the service was started anew and " + guard.untilGranting(at), left);
    }
  }
}
