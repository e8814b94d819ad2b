package dev.cinch.lease.memory;

import static dev.cinch.lease.table.Refusals.held;
import static dev.cinch.lease.table.Refusals.invalid;
import static dev.cinch.lease.table.Refusals.notHeld;
import static dev.cinch.lease.table.Refusals.notYet;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.ChangeListener;
import dev.cinch.lease.ChangeListener.Listeners;
import dev.cinch.lease.Correlation;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.Witness;
import dev.cinch.lease.table.Inheritance;
import dev.cinch.lease.table.LastWords;
import dev.cinch.lease.table.LeaseBackend;
import dev.cinch.lease.table.LeaseBackend.Tenure;
import dev.cinch.lease.table.LeaseBackend.UnendedException;
import dev.cinch.lease.table.LeaseLayout;
import dev.cinch.lease.table.LeaseRules;
import dev.cinch.lease.table.LeaseState;
import dev.cinch.lease.table.Moment;
import dev.cinch.lease.table.Revocations;
import dev.cinch.lease.table.SharedLogs;
import dev.cinch.lease.table.SortedRows;
import dev.cinch.lease.time.SignedClock.Reading;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Who has which lease: {@link LeaseRules} over all names and grants. It does no I/O and reads no
 * clock; {@code now} is the service's time, as a number in nanoseconds since the Unix epoch, and
 * where callers bring it out of order the later counts.
 *
 * <p>Thread-safe: one operation at a time, each of a few microseconds. Every operation is all or
 * nothing: it checks all names of its grant before it changes any. Whatever goes over all names
 * goes over a part of them at a time.
 */
@CheckReturnValue
final class MemoryLeases implements LeaseBackend {
  /** How soon to come back when there is no room, nanoseconds. */
  private static final long NO_ROOM_WAIT = 1_000_000_000L;

  /**
   * How long a lease is listed among last words after all that was signed for its name has expired,
   * nanoseconds: so that a new holder of another name fences only what closers have passed.
   */
  private static final long LISTED_NANOS = 10_000_000_000L;

  /** Others wait meanwhile. */
  private static final int COUNTED_AT_ONCE = 1_024;

  private final TableLimits limits;
  private final long instance;
  private final boolean resumable;
  private final LeaseRules rules;
  private final SharedLogs logSets = new SharedLogs();

  /** The last leases of all names. */
  private final SortedRows names = new LeaseRow.ByName();

  private final Grants grants;
  private final Room room;

  /** Why leases were revoked. */
  private final Revocations revocations = new Revocations();

  /** Told of each change under the table's lock. */
  private final Listeners listeners = new Listeners();

  private final Fence earlier;

  private long now = Long.MIN_VALUE;
  private long steady = Long.MIN_VALUE;
  private int grantsPlace;

  /**
   * @param instance number of the service instance, from 1
   * @param origin what names never seen inherit
   * @param earlier what earlier instances may have signed
   * @param longest lease that was granted, here or before; nanoseconds
   * @param store whose later instances might resume leases: then they are to be ended before their
   *     names are granted on, or they are forgotten (rule L11); empty if there is none
   */
  MemoryLeases(
      TableLimits limits,
      long instance,
      Inheritance origin,
      Fence earlier,
      long longest,
      Optional<Id> store) {
    this.limits = limits;
    this.instance = instance;
    this.earlier = earlier;
    this.resumable = store.isPresent();
    this.room = new Room(names, limits, origin, earlier, longest, resumable, logSets);
    // As many as can be held, and some that ended.
    long bytes = limits.maxBytes();
    this.grants =
        new Grants(
            limits.maxEntries() + limits.maxEntries() / 4 + 64,
            bytes > Long.MAX_VALUE / 2 ? bytes : bytes + bytes / 4,
            limits.retentionNanos(),
            logSets);
    this.rules =
        new LeaseRules(
            instance,
            store.orElse(Correlation.NO_STORE),
            earlier,
            limits.watermarks(),
            lease -> revocations.of(lease).map(Revocation::reason));
  }

  /** Takes over what the instance before left (rule L19); before anything is asked for. */
  synchronized void take(LastWords words, Reading start, long apart) {
    for (LeaseState lease : words.leases()) {
      lease.holdBy(start.steady(), start.now(), apart);
      names.put(LeaseLayout.pack(lease, logSets));
    }
  }

  @Override
  public synchronized Optional<byte[]> lastWords(Moment time, long longest) {
    Moment at = advance(time);
    var words = new LastWords.Draft();
    long othersUpTo = room.signedUpTo();
    byte[] from = {};
    for (boolean first = true; ; first = false) {
      List<byte[]> some = names.from(from, first, COUNTED_AT_ONCE, row -> true);
      for (byte[] row : some) {
        LeaseState lease = LeaseLayout.unpack(row, logSets);
        long signedUpTo = lease.signedUpTo(longest, earlier);
        if (signedUpTo <= at.time() - LISTED_NANOS && !lease.isHeld(at)) {
          othersUpTo = Math.max(othersUpTo, signedUpTo);
        } else {
          lease.leave(instance);
          if (!words.add(lease)) {
            return Optional.empty();
          }
        }
      }
      if (some.size() < COUNTED_AT_ONCE) {
        return Optional.of(words.finish(at.time(), othersUpTo, longest));
      }
      from = LeaseRow.key(LeaseRow.name(some.get(some.size() - 1)));
    }
  }

  @Override
  public synchronized List<Witness> acquire(Operation.Acquire request, Moment time, long ceiling)
      throws LeaseRefusedException, UnendedException {
    var wanted = new ArrayList<String>(request.names().size());
    request.names().forEach(name -> wanted.add(name.value()));
    wanted.sort(null);
    Grants.Grant known = grants.get(request.id());
    if (known != null) {
      if (known.isOver()) {
        throw notHeld(
            known.isReleased()
                ? "this request was granted and released; acquire with a new id"
                : "this request was given back before it came; acquire with a new id");
      }
      if (!grants.isFor(known, request, wanted)) {
        throw invalid("another request had this id");
      }
      List<LeaseState> leases = leases(known.names());
      rules.requireHeld(request.id(), known.isFull(), leases, advance(time));
      return witnesses(leases);
    }
    Moment at = advance(time);
    // First, since to make room is to forget.
    long unused = LeaseRules.expiry(at, request.durationMs(), ceiling);
    if (!room.make(wanted, now())) {
      requireEnded(room.unended());
      throw notYet("the service remembers as many names as it may", NO_ROOM_WAIT);
    }
    List<LeaseState> leases = leases(wanted);
    List<Tenure> toEnd = rules.acquire(request, leases, room.inherited(), at, ceiling);
    if (resumable) {
      requireEnded(toEnd);
    }
    return keep(leases);
  }

  @Override
  public synchronized void requireFree(Operation.Acquire request, Moment time)
      throws LeaseRefusedException {
    Grants.Grant known = grants.get(request.id());
    if (known != null && !known.isOver()) {
      return; // it may be the holder
    }
    for (LeaseName name : request.names().stream().sorted().toList()) {
      LeaseState lease = lease(name.value());
      Moment at = advance(time);
      if (lease.excludes(at)) {
        throw held(name, lease.holder(), lease.leftNanos(at));
      }
    }
  }

  @Override
  public void listen(ChangeListener next) {
    listeners.add(next);
  }

  private static void requireEnded(List<Tenure> unended) throws UnendedException {
    if (!unended.isEmpty()) {
      throw new UnendedException(unended);
    }
  }

  @Override
  public synchronized void ended(List<Tenure> tenures) {
    for (Tenure tenure : tenures) {
      LeaseState lease = get(tenure.name());
      if (lease != null && LeaseRules.end(lease, tenure)) {
        replace(lease);
      }
    }
  }

  @Override
  public synchronized Revocation revocable(Operation.Revoke request, Moment time)
      throws LeaseRefusedException {
    LeaseState lease = lease(request.name().value());
    Revocation wanted = rules.revocable(request, lease, advance(time));
    return lease.isUnended() ? wanted : revocations.of(lease.correlation()).orElse(wanted);
  }

  @Override
  public synchronized long revoked(Revocation revocation, long time) {
    String name = revocation.name().value();
    revocations.add(revocation);
    ended(List.of(new Tenure(name, revocation.correlation())));
    now = Math.max(now, time);
    LeaseState lease = get(name);
    return lease == null
            || !lease.correlation().equals(revocation.correlation())
            || lease.state() == LeaseState.State.RELEASED
        ? now
        : lease.expiry();
  }

  @Override
  public synchronized Optional<List<Witness>> resume(
      Operation.Resume request, boolean ended, Moment time, long ceiling)
      throws LeaseRefusedException {
    List<String> wanted = LeaseRules.names(request);
    Grants.Grant known = grants.get(request.id());
    if (known != null && known.isOver()) {
      throw released();
    }
    List<LeaseState> leases = leases(wanted);
    for (int i = 0; i < leases.size(); i++) {
      // What was left here awaits its holder, so that it is as if nothing were known of it.
      if (leases.get(i).awaits(LeaseRules.correlation(request, i))) {
        leases.set(i, new LeaseState(wanted.get(i)));
      }
    }
    LeaseRules.Resumed resumed =
        rules.resume(request, ended, leases, room.hasForgotten(), advance(time), ceiling);
    if (resumed == LeaseRules.Resumed.UNENDED) {
      return Optional.empty();
    }
    // To make room would be to forget, after which nothing is resumed.
    if (resumed == LeaseRules.Resumed.BEGUN && !room.isFor(wanted.size())) {
      throw notYet("the service remembers as many names as it may", NO_ROOM_WAIT);
    }
    return Optional.of(keep(leases));
  }

  @Override
  public synchronized boolean knows(List<LeaseName> wanted, Moment at) {
    for (LeaseName name : wanted) {
      LeaseState lease = get(name.value());
      if (lease == null || lease.isLeft() || lease.isResumedUntilPast(at)) {
        return false;
      }
    }
    return true;
  }

  @Override
  public synchronized boolean isResumedUntilPast(List<LeaseName> wanted, Moment at) {
    for (LeaseName name : wanted) {
      LeaseState lease = get(name.value());
      if (lease != null && lease.isResumedUntilPast(at)) {
        return true;
      }
    }
    return false;
  }

  @Override
  public synchronized boolean knows(Id id) {
    Grants.Grant known = grants.get(id);
    return known != null && (known.isReleased() || !known.isOver());
  }

  @Override
  public synchronized void requireKnown(Id id, LeaseReport report) throws LeaseRefusedException {
    rules.requireHere(report);
    Grants.Grant unused = known(id, Operation.Scope.ALL);
  }

  @Override
  public synchronized List<Witness> renew(Operation.Renew renew, Moment time, long ceiling)
      throws LeaseRefusedException {
    rules.requireHere(renew.report());
    Grants.Grant grant = known(renew.id(), renew.scope());
    List<LeaseState> leases = leases(grant.names());
    rules.renew(renew, grant.isFull(), leases, advance(time), ceiling);
    addMetadata(leases, renew.report());
    return keep(leases);
  }

  @Override
  public synchronized List<Witness> upgrade(Operation.Upgrade upgrade, Moment time, long ceiling)
      throws LeaseRefusedException {
    Grants.Grant grant = known(upgrade.id(), upgrade.scope());
    List<LeaseState> leases = leases(grant.names());
    rules.upgrade(upgrade, grant.isFull(), leases, advance(time), ceiling);
    return keep(leases);
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
  public List<Witness> release(Operation.Release release, Moment time, Latest latest)
      throws LeaseRefusedException {
    Id id = release.id();
    LeaseReport report = release.report();
    rules.requireHere(report);
    synchronized (this) {
      Grants.Grant grant = grants.get(id);
      if (grant != null && grant.isReleased()) {
        return List.of();
      }
      boolean known = grant != null && !grant.isOver();
      if (grant != null && known) {
        release.scope().require(grant.leaseNames());
      }
      if (known || report.instance().isEmpty()) {
        latest.require();
      }
      if (grant == null || grant.isOver()) {
        grants.giveUp(id, time.time());
        throw unknown();
      }
      Moment at = advance(time);
      List<LeaseState> leases = rules.release(release, grant.isFull(), leases(grant.names()), at);
      addMetadata(leases, report);
      leases.forEach(this::replace);
      grants.release(id, at.time());
      return witnesses(leases);
    }
  }

  @Override
  public synchronized Optional<LeaseInfo> show(LeaseName name, Moment time) {
    LeaseState lease = get(name.value());
    return lease == null ? Optional.empty() : Optional.of(lease.info(instance, advance(time)));
  }

  @Override
  public List<LeaseInfo> list(String prefix, Optional<LeaseName> after, int limit, Moment time) {
    String from = after.map(LeaseName::value).orElse("");
    boolean inclusive = from.compareTo(prefix) < 0;
    from = inclusive ? prefix : from;
    var page = new LeasePage(limit);
    while (!page.isFull()) {
      int most = page.most();
      List<LeaseInfo> more = some(prefix, from, inclusive, most, time);
      more.forEach(page::add);
      if (more.size() < most) {
        break;
      }
      from = more.get(most - 1).witness().name().value();
      inclusive = false;
    }
    return page.leases();
  }

  private synchronized List<LeaseInfo> some(
      String prefix, String from, boolean inclusive, int most, Moment time) {
    Moment at = advance(time);
    var leases = new ArrayList<LeaseInfo>();
    for (byte[] row :
        names.from(
            LeaseRow.key(from), inclusive, most, row -> LeaseRow.name(row).startsWith(prefix))) {
      leases.add(LeaseLayout.unpack(row, logSets).info(instance, at));
    }
    return leases;
  }

  /** Counts a part at a time, in the order of names: each name once. */
  @Override
  public OptionalLong countHeld(Moment time) {
    long held = 0;
    byte[] from = {};
    boolean first = true;
    while (true) {
      List<byte[]> some;
      synchronized (this) {
        some = names.from(from, first, COUNTED_AT_ONCE, row -> true);
        for (byte[] row : some) {
          held += LeaseRow.isReleased(row) || LeaseRow.expiry(row) <= time.time() ? 0 : 1;
        }
      }
      if (some.size() < COUNTED_AT_ONCE) {
        return OptionalLong.of(held);
      }
      from = LeaseRow.key(LeaseRow.name(some.get(some.size() - 1)));
      first = false;
    }
  }

  /** Forgets the ids of grants that ended long ago, in an eighth of them. */
  @Override
  public void sweep(long time) {
    for (int i = 0; i < Grants.STEPS / 8; i++) {
      synchronized (this) {
        grantsPlace = grants.sweep(grantsPlace, time);
      }
    }
  }

  @Override
  public synchronized int grantsRemembered() {
    return grants.size();
  }

  /** The highest time that anyone brought: what happened by it stays so (rules L1, L6). */
  private Moment advance(Moment time) {
    now = Math.max(now, time.time());
    steady = Math.max(steady, time.steady());
    return new Moment(now, time.bound(), steady, time.apart());
  }

  /** As late as anyone has brought it. */
  private Moment now() {
    return new Moment(now, Moment.UNKNOWN, steady, 0);
  }

  /** The last lease of a name, to work on. */
  private @Nullable LeaseState get(String name) {
    byte[] row = names.get(LeaseRow.key(name));
    return row == null ? null : LeaseLayout.unpack(row, logSets);
  }

  /** The same; of a name that has none one of which nothing is known. */
  private LeaseState lease(String name) {
    LeaseState known = get(name);
    return known == null ? new LeaseState(name) : known;
  }

  private List<LeaseState> leases(List<String> wanted) {
    var leases = new ArrayList<LeaseState>(wanted.size());
    wanted.forEach(name -> leases.add(lease(name)));
    return leases;
  }

  private static LeaseRefusedException released() {
    return notHeld("the grant was released; acquire anew");
  }

  private static LeaseRefusedException unknown() {
    return notHeld(
        "no grant has this id: it expired long ago, or the service was restarted; acquire anew");
  }

  private Grants.Grant known(Id id, Operation.Scope scope) throws LeaseRefusedException {
    Grants.Grant grant = grants.get(id);
    if (grant != null && grant.isReleased()) {
      throw released();
    }
    if (grant == null || grant.isOver()) {
      throw unknown();
    }
    scope.require(grant.leaseNames());
    return grant;
  }

  /** It is but a hint, and all that a renewal can let grow: none where all the memory is taken. */
  private void addMetadata(List<LeaseState> leases, LeaseReport report) {
    boolean full = names.bytes() > limits.maxBytes();
    for (LeaseState lease : leases) {
      lease.addMetadata(report.metadata(), full ? 0 : limits.metadataKept());
    }
  }

  /** Puts a lease that ended in the place of what was there; its grant keeps what that was. */
  private void replace(LeaseState lease) {
    names.put(LeaseLayout.pack(lease, logSets));
    changed(lease);
  }

  /**
   * Puts leases of a grant in the place of what was there: into its very bytes if they are of the
   * same request and as many, as a renewal leaves them, so that the collector sees nothing new.
   */
  private List<Witness> keep(List<LeaseState> leases) {
    for (LeaseState lease : leases) {
      byte[] row = LeaseLayout.pack(lease, logSets);
      byte[] before = names.get(LeaseRow.key(lease.name()));
      if (before != null && before.length == row.length && LeaseRow.hasId(before, row)) {
        System.arraycopy(row, 0, before, 0, row.length);
        row = before;
      } else {
        names.put(row);
      }
      grants.put(row, now);
      changed(lease);
    }
    return witnesses(leases);
  }

  private void changed(LeaseState lease) {
    listeners.changed(lease.name(), lease.state() != LeaseState.State.FULL);
  }

  private List<Witness> witnesses(List<LeaseState> leases) {
    return leases.stream().map(lease -> lease.witness(instance)).toList();
  }
}
