package dev.cinch.lease.memory;

import static dev.cinch.lease.table.Refusals.held;
import static dev.cinch.lease.table.Refusals.invalid;
import static dev.cinch.lease.table.Refusals.notHeld;
import static dev.cinch.lease.table.Refusals.notYet;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.AcquireRequest;
import dev.cinch.lease.Correlation;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseListener;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.Listeners;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.ResumeRequest;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.RevokeRequest;
import dev.cinch.lease.Witness;
import dev.cinch.lease.table.Inheritance;
import dev.cinch.lease.table.LeaseBackend;
import dev.cinch.lease.table.LeaseRules;
import dev.cinch.lease.table.LeaseState;
import dev.cinch.lease.table.Moment;
import dev.cinch.lease.table.Tenure;
import dev.cinch.lease.table.UnendedException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Who has which lease: {@link LeaseRules} over all names and grants. It does no I/O and reads no
 * clock; {@code now} is the service's time, as a number in nanoseconds since the Unix epoch, and
 * where callers bring it out of order the later counts.
 *
 * <p>Thread-safe. Every operation is all or nothing: it checks all names of its grant under their
 * partitions' locks, taken in ascending order, before it changes any.
 */
@CheckReturnValue
final class LeaseTable implements LeaseBackend {
  /** How soon to come back when there is no room, nanoseconds. */
  private static final long NO_ROOM_WAIT = 1_000_000_000L;

  private final TableLimits limits;
  private final long instance;
  private final boolean resumable;
  private final Partitions partitions;
  private final Stripes stripes;
  private final LeaseRules rules;
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
    this.partitions = new Partitions(limits, origin, resumable, logSets);
    this.stripes = new Stripes(limits, logSets);
    this.rules =
        new LeaseRules(
            instance,
            store.orElse(Correlation.NO_STORE),
            origin.fence(),
            limits.watermarks(),
            lease -> partitions.revocations.of(lease).map(Revocation::reason));
  }

  /**
   * Grants leases, or repeats the grant of the same request.
   *
   * @param request within the service's ranges
   * @param ceiling no expiry is above it (rule L3)
   * @throws UnendedException if leases are to be ended first; then {@link #ended}, and ask again
   */
  @Override
  public List<Witness> acquire(AcquireRequest request, Moment now, long ceiling)
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
        return repeat(known, request, names, now);
      }
      List<String> locking = names.stream().map(LeaseName::value).toList();
      Partitions.Locked locked = partitions.lock(locking);
      try {
        Moment at = locked.advance(now);
        // First, since to make room is to forget.
        long unused = LeaseRules.expiry(at, request.durationMs(), ceiling);
        if (!partitions.makeRoom(names)) {
          requireEnded(partitions.unended(names));
          throw notYet("the service remembers as many names as it may", NO_ROOM_WAIT);
        }
        List<LeaseEntry> leases = partitions.entries(locking);
        List<Tenure> unended =
            rules.acquire(request, leases, l -> partitions.of(l.name()).unknown(), at, ceiling);
        if (resumable) {
          requireEnded(unended);
        }
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
  @Override
  public void requireFree(AcquireRequest request, Moment now) throws LeaseRefusedException {
    Grants stripe = stripes.of(request.id());
    synchronized (stripe) {
      if (stripe.get(request.id()) != null) {
        return; // it may be the holder
      }
    }
    for (LeaseName name : request.names().stream().sorted().toList()) {
      Partitions.Locked locked = partitions.lock(List.of(name.value()));
      try {
        Moment at = locked.advance(now);
        LeaseEntry lease = partitions.of(name.value()).entry(name.value());
        if (lease.excludes(at)) {
          throw held(name, lease.holder(), lease.leftNanos(at));
        }
      } finally {
        locked.close();
      }
    }
  }

  /** Has one more listener told of changes. */
  @Override
  public void listen(LeaseListener next) {
    listeners.add(next);
  }

  private static void requireEnded(List<Tenure> unended) throws UnendedException {
    if (!unended.isEmpty()) {
      throw new UnendedException(unended);
    }
  }

  /** Takes note that no other instance will ever resume these: expired, or to be revoked. */
  @Override
  public void ended(List<Tenure> tenures) {
    Partitions.Locked locked = partitions.lock(tenures.stream().map(Tenure::name).toList());
    try {
      for (Tenure tenure : tenures) {
        LeaseEntry entry = partitions.of(tenure.name()).get(tenure.name());
        if (entry != null && LeaseRules.end(entry, tenure)) {
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
  @Override
  public Revocation revocable(RevokeRequest request, Moment now) throws LeaseRefusedException {
    String name = request.name().value();
    Partitions.Locked locked = partitions.lock(List.of(name));
    try {
      LeaseEntry entry = partitions.of(name).entry(name);
      Revocation wanted = rules.revocable(request, entry, locked.advance(now));
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
  @Override
  public long revoked(Revocation revocation, long now) {
    String name = revocation.name().value();
    partitions.revocations.add(revocation);
    ended(List.of(new Tenure(name, revocation.correlation())));
    Partitions.Locked locked = partitions.lock(List.of(name));
    try {
      long time = partitions.of(name).advance(now);
      LeaseEntry entry = partitions.of(name).get(name);
      return entry == null || !entry.correlation().equals(revocation.correlation())
          ? time
          : entry.state() == LeaseState.State.RELEASED ? time : entry.expiry();
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
  @Override
  public Optional<List<Witness>> resume(
      ResumeRequest request, boolean ended, Moment now, long ceiling) throws LeaseRefusedException {
    List<String> names = LeaseRules.names(request);
    Grants stripe = stripes.of(request.id());
    synchronized (stripe) {
      if (stripe.wasReleased(request.id()) || stripe.wasGivenUp(request.id())) {
        throw notHeld("the grant was released; acquire anew");
      }
      Partitions.Locked locked = partitions.lock(names);
      try {
        Moment at = locked.advance(now);
        List<LeaseEntry> leases = partitions.entries(names);
        LeaseRules.Resumed resumed =
            rules.resume(
                request, ended, leases, l -> partitions.of(l.name()).hasForgotten(), at, ceiling);
        if (resumed == LeaseRules.Resumed.UNENDED) {
          return Optional.empty();
        }
        // To make room would be to forget, after which nothing is resumed.
        if (resumed == LeaseRules.Resumed.BEGUN && !partitions.haveRoom(names)) {
          throw notYet("the service remembers as many names as it may", NO_ROOM_WAIT);
        }
        return Optional.of(keepNew(stripe, request.id(), leases, at.time()));
      } finally {
        locked.close();
      }
    }
  }

  @Override
  public boolean knows(List<LeaseName> names, Moment now) {
    return names.stream().allMatch(n -> partitions.knows(n.value(), now));
  }

  /** Whether a grant of this id was made here, and is remembered. */
  @Override
  public boolean knows(Id id) {
    Grants stripe = stripes.of(id);
    synchronized (stripe) {
      return stripe.get(id) != null || stripe.wasReleased(id);
    }
  }

  /** Refuses what {@link #renew} and {@link #upgrade} would for want of a grant, likewise. */
  @Override
  public void requireKnown(Id id, LeaseReport report) throws LeaseRefusedException {
    rules.requireHere(report);
    Grants stripe = stripes.of(id);
    synchronized (stripe) {
      GrantEntry unused = known(stripe, id);
    }
  }

  private List<Witness> repeat(
      GrantEntry grant, AcquireRequest request, List<LeaseName> names, Moment now)
      throws LeaseRefusedException {
    if (!grant.isFor(request, names)) {
      throw invalid("another request had this id");
    }
    Partitions.Locked locked = partitions.lock(grant.names());
    try {
      List<LeaseEntry> leases = partitions.entries(grant);
      rules.requireHeld(grant.id, grant.full, leases, locked.advance(now));
      return witnesses(leases);
    } finally {
      locked.close();
    }
  }

  /** Puts changed leases of a grant in the place of what was there. */
  private List<Witness> keep(Grants stripe, Id grant, List<LeaseEntry> leases, long time) {
    var rows = new ArrayList<byte[]>(leases.size());
    for (LeaseEntry lease : leases) {
      rows.add(partitions.of(lease.name()).rows.renew(lease.row, LeaseRow.pack(lease, logSets)));
      listeners.changed(lease.name(), lease.state() != LeaseState.State.FULL);
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
    partitions.of(lease.name()).rows.put(LeaseRow.pack(lease, logSets));
    listeners.changed(lease.name(), lease.state() != LeaseState.State.FULL);
    became(lease);
  }

  private void became(LeaseEntry lease) {
    listeners.became(lease.name(), () -> lease.info(instance, partitions.of(lease.name()).now()));
  }

  /** Prolongs the leases of a grant; tentative ones stay so. */
  @Override
  public List<Witness> renew(
      Id id, long durationMs, LogSet addLogs, LeaseReport report, Moment now, long ceiling)
      throws LeaseRefusedException {
    var renew = new Operation.Renew(id, durationMs, addLogs, report);
    rules.requireHere(report);
    Grants stripe = stripes.of(id);
    synchronized (stripe) {
      GrantEntry grant = known(stripe, id);
      Partitions.Locked locked = partitions.lock(grant.names());
      try {
        Moment at = locked.advance(now);
        List<LeaseEntry> leases = partitions.entries(grant);
        rules.renew(renew, grant.full, leases, at, ceiling);
        addMetadata(leases, report);
        return keep(stripe, id, leases, at.time());
      } finally {
        locked.close();
      }
    }
  }

  /** Makes the leases of a grant full; those that are already stay so. */
  @Override
  public List<Witness> upgrade(Id id, long durationMs, Moment now, long ceiling)
      throws LeaseRefusedException {
    var upgrade = new Operation.Upgrade(id, durationMs);
    Grants stripe = stripes.of(id);
    synchronized (stripe) {
      GrantEntry grant = known(stripe, id);
      Partitions.Locked locked = partitions.lock(grant.names());
      try {
        Moment at = locked.advance(now);
        List<LeaseEntry> leases = partitions.entries(grant);
        rules.upgrade(upgrade, grant.full, leases, at, ceiling);
        return keepNew(stripe, id, leases, at.time());
      } finally {
        locked.close();
      }
    }
  }

  /**
   * Gives the leases of a grant back; those of it that were tentative and broken are passed over. A
   * request that is not known may be still on its way, from somebody who gave it up: it is not
   * granted when it comes, since nobody would ever give it back.
   *
   * <p>An instance that was superseded says so of a grant that it knows and has not released. All
   * copies of the request are decided on under one lock, so that this is said of none that is
   * carried out (rule L13).
   *
   * @param latest asked under that lock
   */
  @Override
  public void release(Id id, LeaseReport report, Moment now, Latest latest)
      throws LeaseRefusedException {
    rules.requireHere(report);
    Grants stripe = stripes.of(id);
    synchronized (stripe) {
      if (stripe.wasReleased(id)) {
        return;
      }
      if (stripe.get(id) != null || report.instance().isEmpty()) {
        latest.require();
      }
      if (stripe.get(id) == null) {
        stripe.giveUp(id, now.time());
      }
      GrantEntry grant = known(stripe, id);
      Partitions.Locked locked = partitions.lock(grant.names());
      try {
        Moment at = locked.advance(now);
        var release = new Operation.Release(id, report);
        List<LeaseEntry> leases = rules.release(release, grant.full, partitions.entries(grant), at);
        addMetadata(leases, report);
        for (LeaseEntry lease : leases) {
          keep(lease);
        }
        stripe.release(id, at.time());
      } finally {
        locked.close();
      }
    }
  }

  @Override
  public Optional<LeaseInfo> show(LeaseName name, Moment now) {
    return partitions.show(name.value(), instance, now);
  }

  /** A page of names; names that come and go meanwhile may or may not be in it. */
  @Override
  public List<LeaseInfo> list(String prefix, Optional<LeaseName> after, int limit, Moment now) {
    return partitions.list(prefix, after.map(LeaseName::value).orElse(""), limit, instance, now);
  }

  /** A table forgets no lease of another machine: it has none. */
  @Override
  public boolean isShared(ResumeRequest request) {
    return false;
  }

  @Override
  public boolean isImmediate() {
    return true;
  }

  /** As {@link Stripes#sweep}. */
  @Override
  public void sweep(long now) {
    stripes.sweep(now);
  }

  /** How many ids of grants are remembered, ended ones included. */
  @Override
  public int grantsRemembered() {
    return stripes.size();
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

  /** It is but a hint, and all that a renewal can let grow: none where all the memory is taken. */
  private void addMetadata(List<LeaseEntry> leases, LeaseReport report) {
    for (LeaseEntry lease : leases) {
      boolean full = partitions.of(lease.name()).isFull();
      lease.addMetadata(report.metadata(), full ? 0 : limits.metadataKept());
    }
  }

  private List<Witness> witnesses(List<LeaseEntry> leases) {
    var made = new Witness[leases.size()];
    for (int i = 0; i < made.length; i++) {
      made[i] = leases.get(i).witness(instance);
    }
    return List.of(made);
  }
}
