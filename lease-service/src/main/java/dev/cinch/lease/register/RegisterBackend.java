package dev.cinch.lease.register;

import static dev.cinch.lease.rules.Refusals.invalid;
import static dev.cinch.lease.rules.Refusals.notHeld;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.ChangeListener;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.register.Transitions.Forgotten;
import dev.cinch.lease.rules.LeaseRules;
import dev.cinch.lease.rules.LeaseState;
import dev.cinch.lease.rules.Moment;
import dev.cinch.lease.rules.Revocations;
import dev.cinch.lease.table.LeaseBackend;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Leases whose states several machines keep: {@link LeaseRules} over a {@link StateRegister}. All
 * machines have the same instance number, so that a lease is of none of them: a holder that comes
 * to another one goes on there by its witnesses, and no store has to be asked.
 *
 * <p>Names are changed one by one. A request that is refused for one of several gives the others
 * back, unless another copy of it has met them meanwhile. Whatever is answered was written just
 * before, also if it was found as it is: what was found alone might be gone.
 *
 * <p>Thread-safe. Operations wait for other machines.
 */
@CheckReturnValue
public final class RegisterBackend implements LeaseBackend {
  private static final Logger log = LoggerFactory.getLogger(RegisterBackend.class);

  private final StateRegister register;
  private final Setting setting;
  private final Forgotten forgotten;
  private final LeaseRules rules;
  private final GrantsHere grants;
  private final Watchers told;
  private final Transitions changes;

  private final Transitions.Revoking revoking;

  /**
   * @param forgotten what may have been where the register has forgotten
   * @param grantBytes what is remembered of grants may take so much in the heap, about
   */
  private RegisterBackend(
      StateRegister register, Forgotten forgotten, long grantBytes, Setting setting) {
    this.register = register;
    this.grants = new GrantsHere(grantBytes);
    this.setting = setting;
    this.forgotten = forgotten;
    var revocations = new Revocations();
    this.rules =
        new LeaseRules(
            setting.instance(),
            setting.store(),
            setting.origin().fence(),
            setting.watermarks(),
            lease -> revocations.of(lease).map(Revocation::reason));
    this.told = new Watchers(register);
    this.changes = new Transitions(register, forgotten, setting.time(), told::written);
    this.revoking = new Transitions.Revoking(rules, revocations, changes);
    register.listen(told::written);
    register.onLoss(told::lost);
  }

  /**
   * A backend on a register.
   *
   * @param since signed time at which this instance may have granted its first lease, nanoseconds
   *     since the Unix epoch, or earlier
   * @param longestLeaseMs milliseconds that a lease lasts at most
   * @param apartMs milliseconds that the clocks of two of its machines are apart at most
   */
  public static Factory on(StateRegister register, long since, long longestLeaseMs, long apartMs) {
    return on(register, since, longestLeaseMs, apartMs, Runtime.getRuntime().maxMemory() / 8);
  }

  /**
   * Likewise.
   *
   * @param grantBytes what is remembered of grants may take so much in the heap, about
   */
  public static Factory on(
      StateRegister register, long since, long longestLeaseMs, long apartMs, long grantBytes) {
    var forgotten =
        new Forgotten(
            since,
            TimeUnit.MILLISECONDS.toNanos(longestLeaseMs),
            TimeUnit.MILLISECONDS.toNanos(apartMs));
    return setting -> new RegisterBackend(register, forgotten, grantBytes, setting);
  }

  @Override
  public boolean waits() {
    return true;
  }

  /** Its ceilings say in the store that there are several of its number. */
  @Override
  public boolean isResumable() {
    return false;
  }

  @Override
  public List<Witness> acquire(Operation.Acquire request, Moment now, long ceiling)
      throws LeaseRefusedException {
    Id id = request.id();
    requireWanted(id);
    List<LeaseName> names = request.names().stream().sorted().toList();
    Optional<GrantsHere.Entry> before = grants.get(id);
    if (before.filter(known -> !known.names().equals(names)).isPresent()) {
      throw invalid("another request had this id");
    }
    var acquired = new ArrayList<Acquisition>();
    var states = new ArrayList<LeaseState>(names.size());
    // Before, since what is not answered may be granted, and is to be released then.
    grants.begin(id, names, !request.tentative(), now.time());
    try {
      for (LeaseName name : names) {
        var acquisition = new Acquisition(setting, rules, forgotten, request, name, ceiling);
        states.add(Transitions.single(changes.changeFound(name, now, acquisition)));
        acquired.add(acquisition);
      }
      requireWanted(id);
      return keep(id, names, !request.tentative(), states);
    } catch (LeaseRefusedException e) {
      if (e.reason() != Reason.NOT_YET) { // then it is asked again, and goes on
        undo(id, acquired, before, now);
      }
      throw e;
    }
  }

  private void requireWanted(Id id) throws LeaseRefusedException {
    if (grants.wasGivenUp(id)) {
      throw notHeld("this request was given back before it came; acquire with a new id");
    }
  }

  /** What can't be given back ends by itself. */
  private void undo(
      Id id, List<Acquisition> acquired, Optional<GrantsHere.Entry> before, Moment now) {
    if (before.isEmpty()) {
      grants.remove(id);
    }
    for (Acquisition one : acquired) {
      if (one.isGranted()) {
        try {
          var unused =
              changes.change(one.name, now, (lease, at, found) -> one.undone(lease, at)).await();
        } catch (LeaseRefusedException e) {
          log.debug("{} is not given back: {}", one.name, e.getMessage());
        }
      }
    }
  }

  @Override
  public List<Witness> renew(Operation.Renew renew, Moment now, long ceiling)
      throws LeaseRefusedException {
    rules.requireHere(renew.report());
    GrantsHere.Entry known = known(renew.id(), renew.report(), renew.scope());
    return prolong(
        renew.id(),
        known,
        known.full(),
        now,
        (lease, at, found) ->
            rules.renew(renew, known.full(), List.of(lease), at, ceiling).stream()
                .map(next -> withMetadata(next, renew.report()))
                .findFirst());
  }

  private LeaseState withMetadata(LeaseState lease, LeaseReport report) {
    return lease.withMetadata(report.metadata(), setting.metadataKept());
  }

  @Override
  public List<Witness> upgrade(Operation.Upgrade upgrade, Moment now, long ceiling)
      throws LeaseRefusedException {
    GrantsHere.Entry known = known(upgrade.id(), LeaseReport.NOTHING, upgrade.scope());
    return prolong(
        upgrade.id(),
        known,
        true,
        now,
        (lease, at, found) ->
            rules.upgrade(upgrade, known.full(), List.of(lease), at, ceiling).stream().findFirst());
  }

  private List<Witness> prolong(
      Id id, GrantsHere.Entry known, boolean full, Moment now, Transitions.Transition transition)
      throws LeaseRefusedException {
    return keep(id, known.names(), full, changes.together(known.names(), now, transition));
  }

  private List<Witness> keep(Id id, List<LeaseName> names, boolean full, List<LeaseState> leases) {
    grants.put(id, names, full, leases.stream().mapToLong(LeaseState::expiry).max().orElseThrow());
    return witnesses(leases);
  }

  private List<Witness> witnesses(List<LeaseState> leases) {
    return leases.stream().map(lease -> lease.witness(setting.instance())).toList();
  }

  @Override
  public List<Witness> release(Operation.Release release, Moment now) throws LeaseRefusedException {
    Id id = release.id();
    rules.requireHere(release.report());
    if (grants.wasReleased(id)) {
      return List.of();
    }
    if (grants.get(id).isEmpty()) {
      grants.giveUp(id, now.time());
    }
    GrantsHere.Entry known = known(id, release.report(), release.scope());
    List<LeaseState> released;
    try {
      released = release(release, known, now);
    } catch (LeaseRefusedException e) {
      if (e.reason() != Reason.NOT_HELD) {
        throw e;
      }
      // It may be granted at this moment: either whoever does that sees this, or has done it.
      grants.giveUp(id, now.time());
      released = release(release, known, now);
    }
    grants.release(id, now.time());
    return witnesses(released);
  }

  private List<LeaseState> release(Operation.Release release, GrantsHere.Entry known, Moment now)
      throws LeaseRefusedException {
    Id id = release.id();
    var expiries = new ConcurrentHashMap<LeaseName, Long>();
    return changes.together(
        known.names(),
        now,
        (lease, at, found) -> {
          if (lease.isReleasedBy(id)) {
            return Optional.of(lease); // this request came before
          }
          if (lease.belongsTo(id)) {
            expiries.put(lease.name(), lease.expiry());
          } else if (lease.isKnown()
              && at.time() < expiries.getOrDefault(lease.name(), Long.MIN_VALUE)) {
            // An earlier attempt was outbid by somebody that found it released: none other
            // follows so soon. Written once more, since what that one granted may be gone.
            return Optional.of(lease);
          }
          // Nothing if it was tentative, and broken.
          return rules.release(release, known.full(), List.of(lease), at).stream()
              .map(next -> withMetadata(next, release.report()))
              .findFirst();
        });
  }

  @Override
  public boolean isShared(Operation.Resume request) {
    return request.witnesses().stream()
        .allMatch(signed -> signed.witness().instance() == setting.instance());
  }

  /**
   * {@inheritDoc}
   *
   * <p>Leases of other instances are not taken up: whether their names had later leases is not
   * known here. Signatures need no look, since the state has all that a witness says, and the id.
   */
  @Override
  public Optional<List<Witness>> resume(
      Operation.Resume request, boolean ended, Moment now, long ceiling)
      throws LeaseRefusedException {
    if (!isShared(request)) {
      throw notHeld(
          "a cell goes on with leases of its own instance, %d, and no other's; acquire anew"
              .formatted(setting.instance()));
    }
    Id id = request.id();
    List<Witness> witnesses =
        request.witnesses().stream()
            .map(SignedWitness::witness)
            .sorted(Comparator.comparing(Witness::name))
            .toList();
    List<LeaseName> names = witnesses.stream().map(Witness::name).toList();
    if (grants.get(id).filter(known -> !known.names().equals(names)).isPresent()) {
      throw invalid("this grant has other leases, too");
    }
    var pending = new ArrayList<Transitions.Pending>();
    for (Witness witness : witnesses) {
      pending.add(
          changes.change(
              witness.name(),
              now,
              (lease, at, found) -> {
                if (lease.isReleasedBy(id)) {
                  throw notHeld("the grant was released; acquire anew");
                }
                if (!lease.isKnown() || !lease.correlation().equals(witness.correlation())) {
                  throw notHeld("the lease on " + witness.name() + " expired; acquire anew");
                }
                var renewal = Acquisition.renewal(id, request.durationMs());
                return rules.renew(renewal, true, List.of(lease), at, ceiling).stream().findFirst();
              }));
    }
    return Optional.of(keep(id, names, true, Transitions.all(pending)));
  }

  @Override
  public Revocation revocable(Operation.Revoke request, Moment now) throws LeaseRefusedException {
    return revoking.revocable(request, now);
  }

  @Override
  public long revoked(Revocation revocation, long now) throws LeaseRefusedException {
    return revoking.revoked(revocation, now);
  }

  /** Another machine may have made the grant; whoever goes by witnesses can go on here by them. */
  private GrantsHere.Entry known(Id id, LeaseReport report, Operation.Scope scope)
      throws LeaseRefusedException {
    Optional<GrantsHere.Entry> known = grants.get(id);
    if (known.isPresent()) {
      scope.require(known.get().names());
      return known.get();
    }
    throw report.instance().isPresent()
        ? new LeaseRefusedException(
            Reason.NOT_MET, "this server of the leases has not met this grant; resume it here", 0)
        : notHeld("no grant of this id is known to this server; acquire anew");
  }

  /** No instance's leases are taken up here, so that waiting for earlier ones is never spared. */
  @Override
  public boolean knows(List<LeaseName> names, Moment now) {
    return false;
  }

  @Override
  public boolean knows(Id id) {
    return grants.get(id).isPresent() || grants.wasReleased(id);
  }

  @Override
  public Optional<LeaseInfo> show(LeaseName name, Moment now) throws LeaseRefusedException {
    StateRegister.Found found = Transitions.answer(register.look(name), name.value());
    return info(Transitions.state(name, found), now);
  }

  @Override
  public List<LeaseInfo> list(String prefix, Optional<LeaseName> after, int limit, Moment now)
      throws LeaseRefusedException {
    NavigableMap<String, byte[]> page =
        Transitions.answer(
            register.list(prefix, after.map(LeaseName::value).orElse(""), limit),
            "the names from \"" + prefix + "\"");
    var infos = new ArrayList<LeaseInfo>(page.size());
    for (var entry : page.entrySet()) {
      info(Transitions.decoded(entry.getKey(), entry.getValue()), now).ifPresent(infos::add);
    }
    return infos;
  }

  private Optional<LeaseInfo> info(LeaseState lease, Moment now) {
    Moment at = now.among(forgotten.apartNanos()).at(Math.max(now.time(), lease.changedAt()));
    return lease.isKnown() ? Optional.of(lease.info(setting.instance(), at)) : Optional.empty();
  }

  @Override
  public Optional<LeaseRefusedException> obstacle() {
    return told.obstacle();
  }

  @Override
  public void probe() {
    told.probe();
  }

  @Override
  public boolean hears() {
    return told.hears();
  }

  @Override
  public void listen(ChangeListener listener) {
    told.listen(listener);
  }

  @Override
  public void sweep(long now) {
    grants.sweep(now);
    register.sweep();
  }

  /** How many ids are remembered that were released or given up, or are about to be. */
  int idsRemembered() {
    return grants.ids();
  }

  @Override
  public int grantsRemembered() {
    return grants.size();
  }
}
