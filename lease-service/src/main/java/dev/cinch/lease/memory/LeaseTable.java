package dev.cinch.lease.memory;

import static dev.cinch.lease.memory.Refusals.held;
import static dev.cinch.lease.memory.Refusals.invalid;
import static dev.cinch.lease.memory.Refusals.notHeld;
import static dev.cinch.lease.memory.Refusals.notYet;
import static dev.cinch.lease.memory.Refusals.otherInstance;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.AcquireRequest;
import dev.cinch.lease.Correlation;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseListener;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.ResumeRequest;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.RevokeRequest;
import dev.cinch.lease.Witness;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Who has which lease: all rules of section 6 that need neither a clock nor a store. It does no I/O
 * and reads no clock; {@code now} is the service's time, as a number in nanoseconds since the Unix
 * epoch, and where callers bring it out of order the later counts.
 *
 * <p>Thread-safe. Every operation is all or nothing: it checks all names of its grant under their
 * partitions' locks, taken in ascending order, before it changes any.
 */
@CheckReturnValue
final class LeaseTable {
  /** How soon to come back when there is no room, nanoseconds. */
  private static final long NO_ROOM_WAIT = 1_000_000_000L;

  private static final long NANOS_PER_MS = 1_000_000;

  private final TableLimits limits;
  private final long instance;
  private final boolean resumable;
  private final Id store;
  private final Partitions partitions;
  private final Stripes stripes;
  private final LogSets logSets = new LogSets();

  /** Told of each change under its partition's lock. */
  private final Listeners listeners = new Listeners();

  /**
   * @param instance number of the service instance, from 1
   * @param origin what names never seen inherit
   * @param store whose later instances might resume leases: then they are to be ended before their
   *     names are granted on, or they are forgotten (rule L11); empty if there is none
   */
  LeaseTable(TableLimits limits, long instance, Inheritance origin, Optional<Id> store) {
    this.limits = limits;
    this.instance = instance;
    this.resumable = store.isPresent();
    this.store = store.orElse(Correlation.NO_STORE);
    this.partitions = new Partitions(limits, origin, resumable, logSets);
    this.stripes = new Stripes(limits, logSets);
  }

  /**
   * Grants leases, or repeats the grant of the same request.
   *
   * @param request within the service's ranges
   * @param ceiling no expiry is above it (rule L3)
   * @throws UnendedException if leases are to be ended first; then {@link #ended}, and ask again
   */
  List<Witness> acquire(AcquireRequest request, Moment now, long ceiling)
      throws LeaseRefusedException, UnendedException {
    List<LeaseName> names = request.names().stream().sorted().toList();
    Grants stripe = stripes.of(request.id());
    synchronized (stripe) {
      if (stripe.wasReleased(request.id())) {
        throw notHeld("this request was granted and released; acquire with a new id");
      }
      if (stripe.wasGivenUp(request.id())) {
        throw notHeld("this request was given back before it came; acquire with a new id");
      }
      GrantEntry known = stripe.get(request.id());
      if (known != null) {
        return repeat(known, request, names, now.time());
      }
      Partitions.Locked locked = partitions.lock(names.stream().map(LeaseName::value).toList());
      try {
        Moment at = now.at(locked.advance(now.time()));
        long expiry = expiry(at.time(), request.durationMs(), ceiling);
        if (!partitions.makeRoom(names)) {
          requireEnded(partitions.unended(names));
          throw notYet("the service remembers as many names as it may", NO_ROOM_WAIT);
        }
        var leases = new ArrayList<LeaseEntry>(names.size());
        var unended = new ArrayList<Tenure>();
        for (LeaseName name : names) {
          leases.add(grantOne(name, request, at, expiry, unended));
        }
        requireEnded(unended);
        LogBounds.boundFences(leases);
        return keepNew(stripe, request.id(), leases, at.time());
      } finally {
        locked.close();
      }
    }
  }

  /**
   * Refuses a new request for a name that is held, as {@link #acquire} would: before anything is
   * published for it that a later instance would have to wait for.
   */
  void requireFree(AcquireRequest request, long now) throws LeaseRefusedException {
    Grants stripe = stripes.of(request.id());
    synchronized (stripe) {
      if (stripe.get(request.id()) != null) {
        return; // it may be the holder
      }
    }
    for (LeaseName name : request.names().stream().sorted().toList()) {
      Optional<LeaseInfo> present = show(name, now);
      if (present.isPresent() && present.get().state().excludes()) {
        Witness w = present.get().witness();
        throw held(name, w.holder(), w.expiry() - now);
      }
    }
  }

  /** Has one more listener told of changes. */
  void listen(LeaseListener next) {
    listeners.add(next);
  }

  private static void requireEnded(List<Tenure> unended) throws UnendedException {
    if (!unended.isEmpty()) {
      throw new UnendedException(unended);
    }
  }

  /** Takes note that no other instance will ever resume these: expired, or to be revoked. */
  void ended(List<Tenure> tenures) {
    Partitions.Locked locked = partitions.lock(tenures.stream().map(Tenure::name).toList());
    try {
      for (Tenure tenure : tenures) {
        LeaseEntry entry = partitions.of(tenure.name()).get(tenure.name());
        if (entry != null
            && entry.isUnended()
            && entry.correlation().equals(tenure.correlation())) {
          entry.state = LeaseEntry.State.ENDED;
          keep(entry);
        }
      }
    } finally {
      locked.close();
    }
  }

  /**
   * What a revocation of a lease that is held would say, and whether it is revoked already (L15).
   *
   * @throws LeaseRefusedException {@code NOT_HELD} if there is nothing to revoke
   */
  Revocation revocable(RevokeRequest request, long now) throws LeaseRefusedException {
    String name = request.name().value();
    Partitions.Locked locked = partitions.lock(List.of(name));
    try {
      long time = locked.advance(now);
      LeaseEntry entry = partitions.of(name).get(name);
      if (entry == null
          || !entry.excludes(time)
          || request.correlation().filter(c -> !c.equals(entry.correlation())).isPresent()) {
        throw notHeld("nothing to revoke: no such lease on " + name + " is held");
      }
      var wanted =
          new Revocation(
              request.name(), entry.holder, entry.correlation(), instance, time, request.reason());
      return entry.isUnended()
          ? wanted
          : partitions.revocations.of(entry.correlation()).orElse(wanted);
    } finally {
      locked.close();
    }
  }

  /**
   * Prolongs a lease no more, whose end is this instance's by now.
   *
   * @return its expiry; the present time if it is over
   */
  long revoked(Revocation revocation, long now) {
    String name = revocation.name().value();
    partitions.revocations.add(revocation);
    ended(List.of(new Tenure(name, revocation.correlation())));
    Partitions.Locked locked = partitions.lock(List.of(name));
    try {
      long time = locked.advance(now);
      LeaseEntry entry = partitions.of(name).get(name);
      return entry == null || !entry.correlation().equals(revocation.correlation())
          ? time
          : entry.state == LeaseEntry.State.RELEASED ? time : entry.expiry;
    } finally {
      locked.close();
    }
  }

  /**
   * Goes on with leases of an earlier instance, or repeats that (rule L10).
   *
   * @param request whose witnesses are true, full, and of its id
   * @param ended whether their ends are this instance's by now
   * @return empty if their ends have to be brought about first
   */
  Optional<List<Witness>> resume(ResumeRequest request, boolean ended, Moment now, long ceiling)
      throws LeaseRefusedException {
    List<String> names = Resumption.names(request);
    Grants stripe = stripes.of(request.id());
    synchronized (stripe) {
      if (stripe.wasReleased(request.id()) || stripe.wasGivenUp(request.id())) {
        throw notHeld("the grant was released; acquire anew");
      }
      Partitions.Locked locked = partitions.lock(names);
      try {
        Moment at = now.at(locked.advance(now.time()));
        var resumption = new Resumption(partitions, request, at);
        boolean again = resumption.wasDone();
        if (!again && !ended) {
          return Optional.empty();
        }
        long expiry = expiry(at.time(), request.durationMs(), ceiling);
        List<LeaseEntry> leases = again ? resumption.prolonged(expiry) : resumption.begun(expiry);
        return Optional.of(keepNew(stripe, request.id(), leases, at.time()));
      } finally {
        locked.close();
      }
    }
  }

  /** Whether this instance has granted or resumed them all. */
  boolean knows(List<LeaseName> names) {
    return names.stream().allMatch(n -> partitions.knows(n.value()));
  }

  /** Whether a grant of this id was made here, and is remembered. */
  boolean knows(Id id) {
    Grants stripe = stripes.of(id);
    synchronized (stripe) {
      return stripe.get(id) != null || stripe.wasReleased(id);
    }
  }

  /** Refuses what {@link #renew} and {@link #upgrade} would for want of a grant, likewise. */
  void requireKnown(Id id, LeaseReport report) throws LeaseRefusedException {
    requireThis(report, List.of());
    Grants stripe = stripes.of(id);
    synchronized (stripe) {
      GrantEntry unused = known(stripe, id);
    }
  }

  private List<Witness> repeat(
      GrantEntry grant, AcquireRequest request, List<LeaseName> names, long now)
      throws LeaseRefusedException {
    if (!grant.isFor(request, names)) {
      throw invalid("another request had this id");
    }
    Partitions.Locked locked = partitions.lock(grant.names());
    try {
      return witnesses(partitions.requireHeld(grant, locked.advance(now)));
    } finally {
      locked.close();
    }
  }

  /** A lease as it would be granted; nothing is kept yet. */
  private LeaseEntry grantOne(
      LeaseName name, AcquireRequest request, Moment now, long expiry, List<Tenure> unended)
      throws LeaseRefusedException {
    long time = now.time();
    Partition partition = partitions.of(name.value());
    LeaseEntry entry = partition.get(name.value());
    Inheritance from;
    if (entry == null) {
      from = partition.unknown();
      entry = new LeaseEntry(name.value());
    } else {
      if (entry.excludes(time)) {
        throw held(name, entry.holder, entry.expiry - time);
      }
      if (resumable && entry.isUnended()) {
        unended.add(new Tenure(entry.name, entry.correlation()));
      }
      from = entry.inheritance(time, partition.earlier());
    }
    entry.grant(request, from, now, expiry, Correlation.of(request.id(), name, time, store));
    return entry;
  }

  /** Puts changed leases of a grant in the place of what was there. */
  private List<Witness> keep(Grants stripe, Id grant, List<LeaseEntry> leases, long time) {
    var rows = new ArrayList<byte[]>(leases.size());
    for (LeaseEntry lease : leases) {
      rows.add(partitions.of(lease.name).rows.renew(lease.row, LeaseRow.pack(lease, logSets)));
      listeners.changed(lease.name, lease.state != LeaseEntry.State.FULL);
    }
    stripe.put(grant, rows, time);
    return witnesses(leases);
  }

  /** As {@link #keep(Grants, Id, List, long)}, of leases that were not as they are now. */
  private List<Witness> keepNew(Grants stripe, Id grant, List<LeaseEntry> leases, long time) {
    List<Witness> kept = keep(stripe, grant, leases, time);
    leases.forEach(this::became);
    return kept;
  }

  private void keep(LeaseEntry lease) {
    partitions.of(lease.name).rows.put(LeaseRow.pack(lease, logSets));
    listeners.changed(lease.name, lease.state != LeaseEntry.State.FULL);
    became(lease);
  }

  private void became(LeaseEntry lease) {
    listeners.became(
        lease.name, () -> lease.info(instance, partitions.of(lease.name).advance(Long.MIN_VALUE)));
  }

  /** Prolongs the leases of a grant; tentative ones stay so. */
  List<Witness> renew(
      Id id, long durationMs, LogSet addLogs, LeaseReport report, Moment now, long ceiling)
      throws LeaseRefusedException {
    return change(id, durationMs, addLogs, report, false, now, ceiling);
  }

  /** Makes the leases of a grant full; those that are already stay so. */
  List<Witness> upgrade(Id id, long durationMs, Moment now, long ceiling)
      throws LeaseRefusedException {
    return change(id, durationMs, LogSet.NONE, LeaseReport.NOTHING, true, now, ceiling);
  }

  private List<Witness> change(
      Id id,
      long durationMs,
      LogSet addLogs,
      LeaseReport report,
      boolean upgrade,
      Moment now,
      long ceiling)
      throws LeaseRefusedException {
    requireThis(report, List.of());
    Grants stripe = stripes.of(id);
    synchronized (stripe) {
      GrantEntry grant = known(stripe, id);
      Partitions.Locked locked = partitions.lock(grant.names());
      try {
        Moment at = now.at(locked.advance(now.time()));
        List<LeaseEntry> leases = partitions.requireHeld(grant, at.time());
        requireThis(report, leases);
        long expiry = expiry(at.time(), durationMs, ceiling);
        var bounds = new LogBounds(leases.size());
        for (LeaseEntry lease : leases) {
          WatermarkRule.check(lease, report, at, limits);
          LogSet widened = bounds.widened(lease.logs, addLogs);
          apply(lease, report, at);
          if (report.fenced()) {
            lease.fenced(at);
          }
          if (upgrade) {
            lease.upgrade();
          }
          lease.prolong(at, expiry, widened);
        }
        return upgrade
            ? keepNew(stripe, id, leases, at.time())
            : keep(stripe, id, leases, at.time());
      } finally {
        locked.close();
      }
    }
  }

  /**
   * Gives the leases of a grant back; those of it that were tentative and broken are passed over. A
   * request that is not known may be still on its way, from somebody who gave it up: it is not
   * granted when it comes, since nobody would ever give it back.
   */
  void release(Id id, LeaseReport report, Moment now) throws LeaseRefusedException {
    requireThis(report, List.of());
    Grants stripe = stripes.of(id);
    synchronized (stripe) {
      if (stripe.wasReleased(id)) {
        return;
      }
      if (stripe.get(id) == null) {
        stripe.giveUp(id, now.time());
      }
      GrantEntry grant = known(stripe, id);
      Partitions.Locked locked = partitions.lock(grant.names());
      try {
        Moment at = now.at(locked.advance(now.time()));
        List<LeaseEntry> leases =
            grant.full ? partitions.requireValid(grant, at.time()) : partitions.own(grant);
        requireThis(report, leases);
        for (LeaseEntry lease : leases) {
          WatermarkRule.check(lease, report, at, limits);
          apply(lease, report, at);
          lease.release(at, report.fenced());
        }
        for (LeaseEntry lease : leases) {
          keep(lease);
        }
        stripe.release(id, at.time());
      } finally {
        locked.close();
      }
    }
  }

  Optional<LeaseInfo> show(LeaseName name, long now) {
    return partitions.show(name.value(), instance, now);
  }

  /** A page of names; names that come and go meanwhile may or may not be in it. */
  List<LeaseInfo> list(String prefix, Optional<LeaseName> after, int limit, long now) {
    return partitions.list(prefix, after.map(LeaseName::value).orElse(""), limit, instance, now);
  }

  /** As {@link Stripes#sweep}. */
  void sweep(long now) {
    stripes.sweep(now);
  }

  /** How many ids of grants are remembered, ended ones included. */
  int grantsRemembered() {
    return stripes.size();
  }

  /**
   * Rule L12: a holder that does not go by this instance may use the leases elsewhere, and its
   * request may come twice.
   */
  private void requireThis(LeaseReport report, List<LeaseEntry> leases)
      throws LeaseRefusedException {
    if (report.instance().isPresent()
        ? report.instance().getAsLong() != instance
        : leases.stream().anyMatch(l -> l.resumed)) {
      throw otherInstance(instance);
    }
  }

  private GrantEntry known(Grants stripe, Id id) throws LeaseRefusedException {
    if (stripe.wasReleased(id)) {
      throw notHeld("the grant was released; acquire anew");
    }
    GrantEntry grant = stripe.get(id);
    if (grant == null) {
      throw notHeld(
          "no grant has this id: it expired long ago, or the service was restarted; acquire anew");
    }
    return grant;
  }

  private void apply(LeaseEntry entry, LeaseReport report, Moment now) {
    if (report.watermark().isPresent()) {
      entry.state(report.watermark().getAsLong(), now);
    }
    // It is but a hint, and all that a renewal can let grow.
    boolean full = partitions.of(entry.name).isFull();
    entry.addMetadata(report.metadata(), full ? 0 : limits.metadataKept());
  }

  private static long expiry(long time, long durationMs, long ceiling)
      throws LeaseRefusedException {
    long expiry = time + durationMs * NANOS_PER_MS;
    if (expiry > ceiling) {
      throw notYet("the service has to publish a higher ceiling first", expiry - ceiling);
    }
    return expiry;
  }

  private List<Witness> witnesses(List<LeaseEntry> leases) {
    return leases.stream().map(e -> e.witness(instance)).toList();
  }
}
