package dev.cinch.lease.table;

import static dev.cinch.lease.rules.Refusals.invalid;
import static dev.cinch.lease.rules.Refusals.notHeld;
import static dev.cinch.lease.rules.Refusals.notYet;

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
import dev.cinch.lease.rules.Inheritance;
import dev.cinch.lease.rules.LastWords;
import dev.cinch.lease.rules.LeaseRules;
import dev.cinch.lease.rules.LeaseState;
import dev.cinch.lease.rules.Moment;
import dev.cinch.lease.rules.Revocations;
import dev.cinch.lease.rules.Unreleased;
import dev.cinch.lease.table.LeaseBackend.UnendedException;
import dev.cinch.lease.time.SignedClock.Reading;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Who has which lease: {@link LeaseRules} over all names and grants. It does no I/O and reads no
 * clock; {@code now} is the service's time, as a number in nanoseconds since the Unix epoch, and
 * where callers bring it out of order the later counts.
 *
 * <p>Thread-safe: one operation at a time, each of a few microseconds. Every operation is all or
 * nothing: it checks all names of its grant before it changes any. States of leases are immutable,
 * so that lists and counts need no lock; what forgets looks at a part of all at a time.
 */
@CheckReturnValue
public final class MemoryLeases implements LeaseBackend {
  /** How soon to come back when there is no room, nanoseconds. */
  private static final long NO_ROOM_WAIT = 1_000_000_000L;

  /**
   * How long a lease is listed among last words after all that was signed for its name has expired,
   * nanoseconds: so that a new holder of another name fences only what closers have passed.
   */
  private static final long LISTED_NANOS = 10_000_000_000L;

  /** What a page may take, about; a lease takes about as much as JSON as in the heap. */
  private static final long PAGE_BYTES = 1 << 20;

  private final TableLimits limits;
  private final long instance;
  private final boolean resumable;
  private final LeaseRules rules;
  private final Grants grants;
  private final Room room;

  /** Why leases were revoked. */
  private final Revocations revocations = new Revocations();

  /** Told of each change under the table's lock. */
  private final Listeners listeners = new Listeners();

  private final Fence earlier;

  private long now = Long.MIN_VALUE;
  private long steady = Long.MIN_VALUE;

  /**
   * @param instance number of the service instance, from 1
   * @param origin what names never seen inherit
   * @param earlier what earlier instances may have signed
   * @param longest lease that was granted, here or before; nanoseconds
   * @param store whose later instances might resume leases: then they are to be ended before their
   *     names are granted on, or they are forgotten (rule L11); empty if there is none
   */
  public MemoryLeases(
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
    this.room = new Room(limits, origin, earlier, longest, resumable);
    // As many as can be held, and many more that are over: an id takes a fifth of a lease.
    long bytes = limits.maxBytes();
    this.grants =
        new Grants(
            4L * limits.maxEntries() + 64,
            bytes > Long.MAX_VALUE / 2 ? bytes : bytes + bytes / 4,
            limits.retentionNanos());
    this.rules =
        new LeaseRules(
            instance,
            store.orElse(Correlation.NO_STORE),
            earlier,
            limits.watermarks(),
            lease -> revocations.of(lease).map(Revocation::reason));
  }

  /** Takes over what the instance before left (rule L19); before anything is asked for. */
  public synchronized void take(LastWords words, Reading start, long apart) {
    for (LeaseState lease : words.leases()) {
      room.put(lease.heldBy(start.steady(), start.now(), apart));
    }
  }

  @Override
  public synchronized Optional<byte[]> lastWords(Moment time, long longest) {
    Moment at = advance(time);
    var words = new LastWords.Draft();
    long othersUpTo = room.signedUpTo();
    for (LeaseState lease : room.all().values()) {
      long signedUpTo = lease.signedUpTo(longest, earlier);
      if (signedUpTo <= at.time() - LISTED_NANOS && !lease.isHeld(at)) {
        othersUpTo = Math.max(othersUpTo, signedUpTo);
      } else if (!words.add(lease.left(instance))) {
        return Optional.empty();
      }
    }
    return Optional.of(words.finish(at.time(), othersUpTo, longest));
  }

  @Override
  public synchronized List<Witness> acquire(Operation.Acquire request, Moment time, long ceiling)
      throws LeaseRefusedException, UnendedException {
    List<LeaseName> wanted = request.names().stream().sorted().toList();
    Grants.Entry known = grants.get(request.id());
    if (known instanceof Grants.Over over) {
      throw notHeld(
          over.wasGranted()
              ? "this request was granted and released; acquire with a new id"
              : "this request was given back before it came; acquire with a new id");
    }
    if (known instanceof Grants.Current grant) {
      if (!grant.isFor(request, wanted)) {
        throw invalid("another request had this id");
      }
      List<LeaseState> leases = leases(wanted);
      rules.requireHeld(request.id(), grant.isFull(), leases, advance(time));
      return witnesses(leases);
    }
    Moment at = advance(time);
    // First, since to make room is to forget.
    LeaseRules.requireFree(leases(wanted), at);
    long unused = LeaseRules.expiry(at, request.durationMs(), ceiling);
    if (!room.make(wanted, request.logs(), now())) {
      requireEnded(room.unended());
      throw notYet("the service remembers as many names as it may", NO_ROOM_WAIT);
    }
    List<LeaseState> leases = leases(wanted);
    List<LeaseState> granted = rules.acquire(request, leases, room.inherited(), at, ceiling);
    if (resumable) {
      requireEnded(LeaseRules.unended(leases));
    }
    return keep(granted);
  }

  @Override
  public void listen(ChangeListener next) {
    listeners.add(next);
  }

  private static void requireEnded(List<Unreleased> unended) throws UnendedException {
    if (!unended.isEmpty()) {
      throw new UnendedException(unended);
    }
  }

  @Override
  public synchronized void ended(List<Unreleased> leases) {
    for (Unreleased unreleased : leases) {
      LeaseState lease = room.get(unreleased.name());
      if (lease != null) {
        LeaseRules.ended(lease, unreleased).ifPresent(this::put);
      }
    }
  }

  @Override
  public synchronized Revocation revocable(Operation.Revoke request, Moment time)
      throws LeaseRefusedException {
    LeaseState lease = lease(request.name());
    Revocation wanted = rules.revocable(request, lease, advance(time));
    return lease.isUnended() ? wanted : revocations.of(lease.correlation()).orElse(wanted);
  }

  @Override
  public synchronized long revoked(Revocation revocation, long time) {
    String name = revocation.name().value();
    revocations.add(revocation);
    ended(List.of(new Unreleased(name, revocation.correlation())));
    now = Math.max(now, time);
    LeaseState lease = room.get(name);
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
    List<LeaseName> wanted = LeaseRules.names(request);
    if (grants.get(request.id()) instanceof Grants.Over) {
      throw released();
    }
    List<LeaseState> leases = new ArrayList<>(leases(wanted));
    for (int i = 0; i < leases.size(); i++) {
      // What was left here awaits its holder, so that it is as if nothing were known of it.
      if (leases.get(i).awaits(LeaseRules.correlation(request, i))) {
        leases.set(i, LeaseState.unknown(wanted.get(i)));
      }
    }
    Optional<List<LeaseState>> resumed =
        rules.resume(request, ended, leases, room.hasForgotten(), advance(time), ceiling);
    // To make room would be to forget, after which nothing is resumed.
    if (resumed.isPresent()
        && !leases.get(0).isKnown()
        && !room.isFor(wanted.size(), logBytes(resumed.get()))) {
      throw notYet("the service remembers as many names as it may", NO_ROOM_WAIT);
    }
    return resumed.map(this::keep);
  }

  @Override
  public synchronized boolean knows(List<LeaseName> wanted, Moment at) {
    for (LeaseName name : wanted) {
      LeaseState lease = room.get(name.value());
      if (lease == null || lease.isLeft() || lease.isResumedUntilPast(at)) {
        return false;
      }
    }
    return true;
  }

  @Override
  public synchronized boolean isResumedUntilPast(List<LeaseName> wanted, Moment at) {
    for (LeaseName name : wanted) {
      LeaseState lease = room.get(name.value());
      if (lease != null && lease.isResumedUntilPast(at)) {
        return true;
      }
    }
    return false;
  }

  @Override
  public synchronized boolean knows(Id id) {
    Grants.Entry known = grants.get(id);
    return known instanceof Grants.Over over ? over.wasGranted() : known != null;
  }

  @Override
  public synchronized List<Witness> renew(Operation.Renew renew, Moment time, long ceiling)
      throws LeaseRefusedException {
    rules.requireHere(renew.report());
    Grants.Current grant = known(renew.id(), renew.scope());
    List<LeaseState> leases = leases(grant.names());
    List<LeaseState> renewed = rules.renew(renew, grant.isFull(), leases, advance(time), ceiling);
    long more = logBytes(renewed) - logBytes(leases);
    if (more > 0 && !room.isFor(0, more)) {
      throw notYet("the service remembers as many logs as it may", NO_ROOM_WAIT);
    }
    return keep(withMetadata(renewed, renew.report()));
  }

  @Override
  public synchronized List<Witness> upgrade(Operation.Upgrade upgrade, Moment time, long ceiling)
      throws LeaseRefusedException {
    Grants.Current grant = known(upgrade.id(), upgrade.scope());
    List<LeaseState> leases = leases(grant.names());
    return keep(rules.upgrade(upgrade, grant.isFull(), leases, advance(time), ceiling));
  }

  /**
   * Gives the leases of a grant back; those of it that were tentative and broken are passed over. A
   * request that is not known may be still on its way, from somebody who gave it up: it is not
   * granted when it comes, since nobody would ever give it back.
   */
  @Override
  public synchronized List<Witness> release(Operation.Release release, Moment time)
      throws LeaseRefusedException {
    Id id = release.id();
    rules.requireHere(release.report());
    Grants.Entry known = grants.get(id);
    if (known instanceof Grants.Over over && over.wasGranted()) {
      return List.of();
    }
    if (!(known instanceof Grants.Current grant)) {
      grants.giveUp(id, time.time());
      throw unknown();
    }
    release.scope().require(grant.names());
    Moment at = advance(time);
    List<LeaseState> released = rules.release(release, grant.isFull(), leases(grant.names()), at);
    withMetadata(released, release.report()).forEach(this::put);
    grants.release(id, at.time());
    return witnesses(released);
  }

  @Override
  public synchronized Optional<LeaseInfo> show(LeaseName name, Moment time) {
    LeaseState lease = room.get(name.value());
    return lease == null ? Optional.empty() : Optional.of(lease.info(instance, advance(time)));
  }

  @Override
  public List<LeaseInfo> list(String prefix, Optional<LeaseName> after, int limit, Moment time) {
    Moment at = advance(time);
    String above = after.map(LeaseName::value).orElse("");
    boolean inclusive = above.compareTo(prefix) < 0;
    var page = new ArrayList<LeaseInfo>();
    long bytes = 0;
    for (LeaseState lease : room.all().tailMap(inclusive ? prefix : above, inclusive).values()) {
      bytes += Room.bytesOf(lease);
      boolean fits = page.isEmpty() || page.size() < limit && bytes <= PAGE_BYTES;
      if (!fits || !lease.name().value().startsWith(prefix)) {
        break;
      }
      page.add(lease.info(instance, at));
    }
    return page;
  }

  @Override
  public OptionalLong countHeld(Moment time) {
    return OptionalLong.of(
        room.all().values().stream()
            .filter(lease -> lease.state() != LeaseState.State.RELEASED)
            .filter(lease -> lease.expiry() > time.time())
            .count());
  }

  /** Forgets the ids of grants that ended long ago, in an eighth of them. */
  @Override
  public void sweep(long time) {
    for (int i = 0; i < Grants.STEPS / 8; i++) {
      synchronized (this) {
        boolean unused = grants.sweep(time);
      }
    }
  }

  @Override
  public synchronized int grantsRemembered() {
    return grants.size();
  }

  /** The highest time that anyone brought: what happened by it stays so (rules L1, L6). */
  private synchronized Moment advance(Moment time) {
    now = Math.max(now, time.time());
    steady = Math.max(steady, time.steady());
    return new Moment(now, time.bound(), steady, time.apart());
  }

  /** As late as anyone has brought it. */
  private Moment now() {
    return new Moment(now, Moment.UNKNOWN, steady, 0);
  }

  /** The last lease of a name. */
  private LeaseState lease(LeaseName name) {
    LeaseState known = room.get(name.value());
    return known == null ? LeaseState.unknown(name) : known;
  }

  private List<LeaseState> leases(List<LeaseName> wanted) {
    return wanted.stream().map(this::lease).toList();
  }

  private static LeaseRefusedException released() {
    return notHeld("the grant was released; acquire anew");
  }

  private static LeaseRefusedException unknown() {
    return notHeld(
        "no grant has this id: it expired long ago, or the service was restarted; acquire anew");
  }

  private Grants.Current known(Id id, Operation.Scope scope) throws LeaseRefusedException {
    Grants.Entry known = grants.get(id);
    if (known instanceof Grants.Over over && over.wasGranted()) {
      throw released();
    }
    if (known instanceof Grants.Current grant) {
      scope.require(grant.names());
      return grant;
    }
    throw unknown();
  }

  private static long logBytes(List<LeaseState> leases) {
    return leases.stream().mapToLong(lease -> Room.bytesOf(lease.term().logs())).sum();
  }

  /** It is but a hint: none where all the memory is taken. */
  private List<LeaseState> withMetadata(List<LeaseState> leases, LeaseReport report) {
    int kept = room.isFull() ? 0 : limits.metadataKept();
    return leases.stream().map(lease -> lease.withMetadata(report.metadata(), kept)).toList();
  }

  /** Puts a lease in the place of what was there. */
  private void put(LeaseState lease) {
    room.put(lease);
    listeners.changed(lease.name().value(), lease.state() != LeaseState.State.FULL);
  }

  /** Puts the leases of a grant in the place of what was there. */
  private List<Witness> keep(List<LeaseState> leases) {
    leases.forEach(this::put);
    grants.put(leases, now);
    return witnesses(leases);
  }

  private List<Witness> witnesses(List<LeaseState> leases) {
    return leases.stream().map(lease -> lease.witness(instance)).toList();
  }
}
