package dev.cinch.lease.cell.sim;

import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Message;
import dev.cinch.lease.cell.Message.Memory;
import dev.cinch.lease.cell.Step;
import dev.cinch.lease.sim.Broken;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Sees all that happens in a world, and says if it must not. A value is the number of a lease in
 * the order in which leases follow each other: one more than the highest that its proposer found.
 */
final class Judge {
  /** A lease that was granted. */
  private static final class Lease {
    final Ballot ballot;
    final long number;
    final Node owner;
    long ended = Long.MAX_VALUE;

    Lease(Ballot ballot, long number, Node owner) {
      this.ballot = ballot;
      this.number = number;
      this.owner = owner;
    }
  }

  private final World world;
  private final Map<Bytes, Set<Ballot>> used = new HashMap<>();
  private final Map<Bytes, Map<Ballot, Integer>> accepted = new HashMap<>();
  private final Map<Bytes, List<Lease>> granted = new HashMap<>();
  private final Map<String, String> doubts = new HashMap<>();

  Judge(World world) {
    this.world = world;
  }

  static Bytes value(long number) {
    return Bytes.of(ByteBuffer.allocate(Long.BYTES).putLong(number).array());
  }

  static long number(Bytes value) {
    return value.size() == 0 ? 0 : ByteBuffer.wrap(value.toArray()).getLong();
  }

  /** An attempt begins. */
  void began(Bytes name, Ballot ballot) {
    if (!used.computeIfAbsent(name, n -> new HashSet<>()).add(ballot)) {
      throw new Broken("P4: ballot " + ballot + " is used again");
    }
  }

  /** An acceptor answers; it has been silent for as long as it must. */
  void answers(Node node, Message message, long now) {
    if (now < node.silentUntil) {
      throw new Broken("P5: node " + node.id + " is quarantined and sends " + message);
    }
    if (message instanceof Message.Accepted a) {
      accepted
          .computeIfAbsent(a.name(), n -> new HashMap<>())
          .merge(a.ballot(), 1 << node.id, (x, y) -> x | y);
    }
  }

  /** An attempt found the name open: what the value of its lease is. */
  Bytes found(Node node, Bytes name, Step.Found found) {
    long highest = 0;
    doubts.remove(name + " " + node.id);
    for (Memory last : found.lasts()) {
      highest = Math.max(highest, number(last.value()));
    }
    if (!found.remembered()) {
      for (Lease lease : granted.getOrDefault(name, List.of())) {
        highest = Math.max(highest, quiet(node, name, lease, found));
      }
    }
    return value(highest + 1);
  }

  /** A lease that acceptors may have forgotten: it ended as long ago as they say. */
  private long quiet(Node node, Bytes name, Lease lease, Step.Found found) {
    boolean known = found.lasts().stream().anyMatch(m -> number(m.value()) >= lease.number);
    // Counted by a clock that may be fast, and after messages were under way.
    double least = world.algorithm.elapsed(world.plan, found.quietNanos());
    long ago = lease.ended == Long.MAX_VALUE ? 0 : world.time - lease.ended;
    boolean own = lease.owner == node && node.holds(name, world.time);
    if (!known && !own && ago < least - Plan.MS) {
      // If the attempt fails, its answers were older than that lease.
      doubts.put(
          name + " " + node.id,
          "lease %s is forgotten, and ended %d ns ago, not %d"
              .formatted(lease.ballot, ago, found.quietNanos()));
    }
    return lease.number;
  }

  void granted(Node node, Bytes name, Step.Granted step, Bytes value, long now) {
    int votes =
        Integer.bitCount(accepted.getOrDefault(name, Map.of()).getOrDefault(step.ballot(), 0));
    if (votes < world.plan.acceptors() / 2 + 1) {
      throw new Broken("P1: " + step.ballot() + " is granted by " + votes + " acceptors");
    }
    if (now >= step.until()) {
      throw new Broken("P2: " + step.ballot() + " is granted after its end");
    }
    if (!node.holds(name, world.time)) {
      return; // the handler was paused after it had read the clock: nobody is owner by this
    }
    String doubt = doubts.get(name + " " + node.id);
    if (doubt != null) {
      throw new Broken(step.ballot() + " is granted, but " + doubt);
    }
    List<Lease> all = granted.computeIfAbsent(name, n -> new ArrayList<>());
    for (Lease lease : all) {
      if (lease.number >= number(value)) {
        throw new Broken(
            "%s (number %d) did not find %s (number %d), although a majority remembers"
                .formatted(step.ballot(), number(value), lease.ballot, lease.number));
      }
    }
    all.add(new Lease(step.ballot(), number(value), node));
  }

  /** One owner at a time; whoever has just stopped being it is noted. */
  void look(Bytes name) {
    List<Lease> leases = granted.get(name);
    if (leases == null) {
      return;
    }
    Node holder = null;
    for (Node node : world.nodes) {
      if (node.holds(name, world.time)) {
        if (holder != null) {
          throw new Broken(
              "two owners: nodes %d (%s) and %d (%s)"
                  .formatted(holder.id, holder.ballot(name), node.id, node.ballot(name)));
        }
        holder = node;
      }
    }
    for (int i = leases.size() - 1; i >= 0 && leases.get(i).ended == Long.MAX_VALUE; i--) {
      Lease lease = leases.get(i);
      if (lease.owner != holder || !lease.ballot.equals(holder.ballot(name))) {
        lease.ended = world.time;
      }
    }
  }

  /** What acceptors refuse to others lasts as long as what the owner holds. */
  void excluded(Node owner, Bytes name) {
    if (!owner.holds(name, world.time)) {
      return;
    }
    Ballot ballot = owner.ballot(name);
    int excluding = 0;
    for (Node node : world.nodes) {
      if (node.excludes(name, ballot, world.time)) {
        excluding++;
      }
    }
    if (excluding < world.plan.acceptors() / 2 + 1) {
      throw new Broken(
          "%s is held, but only %d acceptors exclude others".formatted(ballot, excluding));
    }
  }

  boolean anyGranted(Bytes name, int before) {
    return granted.getOrDefault(name, List.of()).size() > before;
  }

  int count(Bytes name) {
    return granted.getOrDefault(name, List.of()).size();
  }
}
