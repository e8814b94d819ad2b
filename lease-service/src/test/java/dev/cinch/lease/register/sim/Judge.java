package dev.cinch.lease.register.sim;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.rules.LeaseState;
import dev.cinch.lease.rules.Moment;
import dev.cinch.lease.sim.Broken;
import dev.cinch.lease.sim.SimClock;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Sees all that happens in a world, and says if it must not. */
final class Judge {
  /** What is known of a request. */
  private static final class Asked {
    /** Its user writes nothing any more. */
    boolean isStopped;

    int copies;
  }

  private final World world;
  private final Map<LeaseName, Accepted> accepted = new HashMap<>();
  private final Map<LeaseName, List<Exposed>> exposed = new HashMap<>();
  private final Map<LeaseName, List<Long>> unknown = new HashMap<>();
  private final Map<Id, Asked> requests = new HashMap<>();
  private final Map<LeaseName, Integer> calm = new HashMap<>();
  private final Map<LeaseName, Holder> holders = new HashMap<>();

  Judge(World world) {
    this.world = world;
    for (LeaseName name : world.names) {
      accepted.put(name, new Accepted(world.plan.nodes() / 2 + 1));
      exposed.put(name, new ArrayList<>());
      unknown.put(name, new ArrayList<>());
    }
  }

  private static <V> V of(Map<LeaseName, V> map, LeaseName name) {
    V value = map.get(name);
    if (value == null) {
      throw new Broken("no such name: " + name);
    }
    return value;
  }

  private Asked asked(Id request) {
    return requests.computeIfAbsent(request, r -> new Asked());
  }

  /** A node's acceptor accepts. */
  void accepted(int node, Bytes key, Ballot ballot, Bytes value) {
    var name = new LeaseName(new String(key.toArray(), java.nio.charset.StandardCharsets.US_ASCII));
    world.trace("node %d accepts %s of %s", node, ballot, name);
    Accepted.Proposal chosen = of(accepted, name).add(node, name, ballot, value);
    if (chosen != null) {
      world.trace("%s has %s %s", name, chosen.state.state(), chosen.witness);
      if (chosen.witness.previousEnding() == Ending.UNKNOWN) {
        of(unknown, name).add(chosen.witness.correlation().high());
      }
    }
  }

  /** A copy of a request to acquire is being carried out. */
  void begun(Id request) {
    asked(request).copies++;
  }

  /** A user writes under its leases. */
  void wrote(List<SignedWitness> held, long timestamp) {
    for (SignedWitness signed : held) {
      Witness w = signed.witness();
      Exposed lease = find(w);
      if (lease == null || asked(lease.request).isStopped) {
        throw new IllegalStateException("a user writes without a lease: " + w);
      }
      lease.written = Math.max(lease.written, timestamp);
      for (Exposed each : of(exposed, w.name())) {
        if (lease.isBefore(each)) {
          requireAbove(lease, each);
        }
      }
    }
  }

  /** Rule F1. */
  private static void requireAbove(Exposed one, Exposed next) {
    if (next.lowerBound() < one.written) {
      throw new Broken(
          "F1: written at %d under %s, then %s".formatted(one.written, one.newest, next.newest));
    }
  }

  private @Nullable Exposed find(Witness w) {
    for (Exposed each : of(exposed, w.name())) {
      if (each.newest.correlation().equals(w.correlation())) {
        return each;
      }
    }
    return null;
  }

  /** A user writes nothing any more, and gives its leases back. */
  void stopped(Id request) {
    asked(request).isStopped = true;
    letGo(request);
  }

  /** Who holds a name, and until when by true time. */
  private record Holder(Id request, long until) {}

  /**
   * A user holds leases from now on: nobody else does at this moment, by true time, whatever clocks
   * show (rule L18).
   */
  void holds(Id request, List<SignedWitness> full, long end) {
    if (end <= world.time) {
      return; // the answer came too late
    }
    for (SignedWitness signed : full) {
      Witness w = signed.witness();
      Holder before = holders.get(w.name());
      long until = end;
      if (before != null && before.request.equals(request)) {
        until = Math.max(before.until, end);
      } else if (before != null && before.until > world.time) {
        throw new Broken(
            "L18: two holders at one moment, for another %d ns: %s of %s, and %s"
                .formatted(before.until - world.time, w, request, before.request));
      }
      holders.put(w.name(), new Holder(request, until));
    }
  }

  /** A user holds nothing of a request any more. */
  void letGo(Id request) {
    holders.values().removeIf(holder -> holder.request.equals(request));
  }

  /** A server answers with a grant. */
  void granted(Server by, Grant grant) {
    for (SignedWitness signed : grant.witnesses()) {
      Witness w = signed.witness();
      world.trace("server %d grants %s to %s", by.id, w, grant.id());
      requireWritten(signed);
      if (w.expiry() > world.registry.ceiling) {
        throw new Broken("L3: no ceiling was published for " + w);
      }
      expose(grant.id(), w);
    }
  }

  /** Rule L17: what is answered was agreed on. */
  private void requireWritten(SignedWitness signed) {
    List<Accepted.Proposal> written = of(accepted, signed.witness().name()).of(signed.witness());
    if (written.stream().noneMatch(p -> p.isChosen)) {
      throw new Broken("L17: answered, and not written: " + signed.witness());
    }
  }

  private void expose(Id request, Witness w) {
    List<Exposed> leases = of(exposed, w.name());
    Exposed lease = find(w);
    if (lease == null) {
      lease = new Exposed(request, w);
      leases.add(lease);
      calm.computeIfPresent(w.name(), (n, count) -> count + 1);
    } else if (!lease.request.equals(request)) {
      throw new Broken("two requests have one lease: " + w);
    }
    lease.add(w);
    for (Exposed each : leases) {
      if (each != lease) {
        requireOrder(each, lease);
      }
    }
  }

  private void requireOrder(Exposed one, Exposed other) {
    if (one.isBefore(other)) {
      requireFollows(one, other);
    } else if (other.isBefore(one)) {
      requireFollows(other, one);
    } else {
      throw new Broken("two leases at once: " + one.newest + " and " + other.newest);
    }
  }

  private void requireFollows(Exposed one, Exposed next) {
    Asked asked = asked(one.request);
    Witness w = next.newest;
    if (one.newest.issuedAt() > next.grantedAt()) {
      throw new Broken("L1: " + one.newest + " is prolonged after " + w);
    }
    if (next.lowerBound() < one.lowerBound()) {
      throw new Broken("L8: the lower bound of " + w + " is below that of " + one.newest);
    }
    requireChain(one, next);
    requireSameGrant(one, next);
    if (!one.isFull()) {
      return;
    }
    requireAbove(one, next);
    if (asked.isStopped) {
      return;
    }
    if (next.lowerBound() < one.expiry) {
      throw new Broken("L8: " + w + " does not fence " + one.newest);
    }
    if (w.watermark().timestamp() < one.expiry && !covers(w.fence().logs(), one.logs)) {
      throw new Broken("L8: " + w + " does not fence all logs of " + one.newest);
    }
    if (next.grantedAt() < one.expiry && !isUnknownBetween(one, next)) {
      throw new Broken("L1: " + w + " begins before the end of " + one.newest);
    }
    if (w.previousEnding() == Ending.RELEASED
        && w.previous().equals(java.util.Optional.of(one.newest.correlation()))) {
      throw new Broken("L2: nobody released " + one.newest + " before " + w);
    }
  }

  private static Moment at(long time) {
    return new Moment(time, Moment.UNKNOWN);
  }

  private static boolean covers(LogSet all, LogSet some) {
    return all.all() || (!some.all() && all.ids().containsAll(some.ids()));
  }

  private boolean isUnknownBetween(Exposed one, Exposed next) {
    return of(unknown, next.newest.name()).stream()
        .anyMatch(at -> at >= one.grantedAt() && at <= next.grantedAt());
  }

  /** Only the last lease before is the one before (audit, step 3). */
  private static void requireChain(Exposed one, Exposed next) {
    Witness w = next.newest;
    if (w.previous().isPresent()) {
      if (w.previous().get().high() < one.grantedAt()) {
        throw new Broken(one.newest + " is between " + w + " and the one before it");
      }
    } else if (!next.followedUnknown()) {
      throw new Broken("the first one, after " + one.newest + ": " + w);
    }
  }

  /** A request that is repeated has the same lease while that lasts. */
  private void requireSameGrant(Exposed one, Exposed next) {
    if (one.request.equals(next.request)
        && !asked(one.request).isStopped
        && next.grantedAt() < one.lasts
        && next.newest.previous().equals(java.util.Optional.of(one.newest.correlation()))) {
      throw new Broken("a request was granted twice: " + one.newest + " and " + next.newest);
    }
  }

  /**
   * A request is refused. A lease that an attempt of it found granted it may keep: it can't tell an
   * earlier attempt, which was outbid, from a copy of it. What gives back may be outbid, too.
   *
   * @param clean whether nothing failed that would have given back what was granted
   */
  void refused(Server by, Id request, List<LeaseName> names, Reason reason, boolean clean) {
    if (reason == Reason.NOT_YET || !clean || asked(request).copies > 1) {
      return;
    }
    for (LeaseName name : names) {
      Accepted.Proposal last = of(accepted, name).last;
      if (last != null
          && last.state.belongsTo(request)
          && last.state.isHeld(at(by.wallNanos() + world.plan.apart()))
          && last.witness.issuedAt() == last.witness.correlation().high()
          && of(accepted, name).isHighest(last)) {
        throw new Broken("refused, and has " + last.witness);
      }
    }
  }

  /** A release is answered; of what has expired it says nothing. */
  void released(Id request, List<SignedWitness> witnesses) {
    for (SignedWitness signed : witnesses) {
      Witness w = signed.witness();
      Accepted.Proposal last = of(accepted, w.name()).last;
      if (last != null
          && last.state.belongsTo(request)
          && last.state.state() != LeaseState.State.RELEASED
          && last.state.isHeld(at(SimClock.EPOCH + world.time + world.plan.apart()))
          && last.witness.correlation().equals(w.correlation())) {
        throw new Broken("L17: released, and that is not written: " + w);
      }
    }
  }

  /** From now on everything works. */
  void calm() {
    world.names.forEach(name -> calm.put(name, 0));
  }

  boolean allGranted() {
    return calm.values().stream().allMatch(count -> count > 0);
  }

  /** A name that was not granted since faults have stopped, by its number; or the given one. */
  int orNotGranted(int name) {
    for (int i = 0; i < world.names.size(); i++) {
      if (calm.getOrDefault(world.names.get(i), 0) == 0) {
        return i;
      }
    }
    return name;
  }

  int granted() {
    return exposed.values().stream().mapToInt(List::size).sum();
  }
}
