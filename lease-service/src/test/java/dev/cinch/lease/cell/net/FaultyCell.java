package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Algorithm;
import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Flease;
import dev.cinch.lease.cell.PaxosLease;
import dev.cinch.lease.cell.Step;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Three loops in one thread, between which datagrams get lost, are doubled, come late and in any
 * order, and whose nodes start again; all as a seed says. Checks after each step that a name has
 * one owner.
 *
 * <p>Clocks of PaxosLease all show the same. Those of Flease step within the error that it allows.
 */
final class FaultyCell {
  static final long LONGEST = 1_000_000_000;
  private static final long EPSILON = LONGEST / 10;
  static final Algorithm PAXOS_LEASE = new PaxosLease(LONGEST, 0, LONGEST);
  static final Algorithm FLEASE = new Flease(LONGEST, EPSILON, LONGEST);
  private static final CellSettings SETTINGS =
      new CellSettings(512, LONGEST / 50, LONGEST / 5, 4, 4, 16, 1L << 30);
  private static final List<Integer> IDS = List.of(1, 2, 3);
  private static final int NAMES = 2;
  private static final CellKey KEY = new CellKey(new byte[CellKey.BYTES]);
  private static final Bytes VALUE = Bytes.of("value");

  /** A lease as its owner knows it. */
  private record Owned(int node, int boot, Ballot ballot, long until) {}

  /** A node between two of its starts. */
  private final class Life {
    final int id;
    final int boot;
    final QueuedLink link = new QueuedLink();
    final Request.Waiting requests = new Request.Waiting(SETTINGS);
    final CellLoop loop;
    final Map<Bytes, Owned> owned = new HashMap<>();
    private final LongSupplier shown = new CommonClock(() -> now + off(), EPSILON);
    private long off;

    Life(int id, int boot) {
      this.id = id;
      this.boot = boot;
      step();
      this.loop =
          new CellLoop(
              id,
              boot,
              false,
              new CellSettings.CellParts(
                  IDS, KEY, algorithm, SETTINGS, link, this::clock, this::clock, random),
              requests);
    }

    private long off() {
      return off;
    }

    /** Steps back are not seen: an owner whose lease had ended would have it again. */
    long clock() {
      return shown.getAsLong();
    }

    /** The clock is set, as wrong as it may be or less. */
    void step() {
      off = algorithm == FLEASE ? random.nextLong(-EPSILON / 2, EPSILON / 2 + 1) : 0;
    }

    void turn() {
      while (loop.turn()) {
        // until it would wait
      }
      flying.addAll(link.sent);
      link.sent.clear();
    }

    @Nullable Owned holds(Bytes name) {
      Owned lease = owned.get(name);
      return lease != null && clock() < lease.until() ? lease : null;
    }
  }

  private final Algorithm algorithm;
  private final SplittableRandom random;
  private final List<QueuedLink.Sent> flying = new ArrayList<>();
  private final List<Life> nodes = new ArrayList<>();

  /** Of nodes that stopped in an orderly way: their callers may act as owners until the end. */
  private final List<Life> stopped = new ArrayList<>();

  private long now;
  private boolean calm;
  int granted;
  int renewed;
  int released;

  FaultyCell(Algorithm algorithm, long seed) {
    this.algorithm = algorithm;
    random = new SplittableRandom(seed);
    now = LONGEST;
    IDS.forEach(id -> nodes.add(new Life(id, 1)));
    now += 2 * LONGEST;
  }

  void run(int steps) {
    for (int i = 0; i < steps; i++) {
      step();
      checkOwners();
    }
  }

  /** Faults stop; then every name can be had. */
  void calm() {
    calm = true;
    now += 2 * LONGEST;
    for (Life node : nodes) {
      node.turn();
    }
    settle();
    for (int n = 0; n < NAMES; n++) {
      int before = granted;
      acquire(nodes.get(n), name(n), LONGEST);
      nodes.get(n).turn();
      settle();
      if (granted != before + 1) {
        throw new AssertionError("nobody got " + n + " although faults had stopped");
      }
    }
    for (Life node : nodes) {
      CellStatus status = node.loop.status(node.clock());
      if (status.faults() > 0 || status.attempts() > 0) {
        throw new AssertionError("left over: " + status);
      }
    }
  }

  private void settle() {
    for (int i = 0; i < 10_000 && !flying.isEmpty(); i++) {
      deliver(random.nextInt(flying.size()), true);
    }
  }

  private void step() {
    int what = random.nextInt(100);
    if (what < 70 && !flying.isEmpty()) {
      deliver(random.nextInt(flying.size()), random.nextInt(100) >= 8);
    } else if (what < 85) {
      now += random.nextLong(random.nextInt(20) == 0 ? LONGEST : LONGEST / 200);
      Life node = nodes.get(random.nextInt(nodes.size()));
      node.step();
      node.turn();
    } else if (what < 99 || random.nextInt(8) > 0) {
      ask(nodes.get(random.nextInt(nodes.size())));
    } else {
      int which = random.nextInt(nodes.size());
      Life before = nodes.get(which);
      if (random.nextBoolean()) {
        before.loop.close();
        flying.addAll(before.link.sent);
        stopped.add(before);
      }
      nodes.set(which, new Life(before.id, before.boot + 1));
    }
  }

  private void deliver(int which, boolean taken) {
    boolean doubled = !calm && random.nextInt(100) < 15;
    QueuedLink.Sent datagram = doubled ? flying.get(which) : flying.remove(which);
    if (calm || taken) {
      Life to = nodes.stream().filter(n -> n.id == datagram.to()).findFirst().orElseThrow();
      to.link.come(datagram.bytes());
      to.turn();
    }
  }

  private static Bytes name(int number) {
    return Bytes.of("name-" + number);
  }

  private void ask(Life node) {
    Bytes name = name(random.nextInt(NAMES));
    Owned lease = node.holds(name);
    long ttl = random.nextLong(algorithm.shortest(), LONGEST + 1);
    if (lease == null) {
      acquire(node, name, ttl);
    } else if (random.nextInt(3) == 0) {
      node.owned.remove(name); // it stops acting first
      var release =
          new Request.Release(
              name, lease.ballot(), random.nextInt(3) * 1_000_000L, new CompletableFuture<>());
      if (node.requests.add(release)) {
        release.result().thenAccept(held -> released += held ? 1 : 0);
      }
    } else {
      pursue(node, name, lease.ballot(), ttl);
    }
    if (random.nextInt(4) > 0) {
      node.turn();
    }
  }

  private void acquire(Life node, Bytes name, long ttl) {
    pursue(node, name, null, ttl);
  }

  private void pursue(Life node, Bytes name, @Nullable Ballot lease, long ttl) {
    Function<Step.Found, Optional<Bytes>> decide =
        found -> random.nextInt(50) == 0 && !calm ? Optional.empty() : Optional.of(VALUE);
    long giveUpAt = node.clock() + LONGEST;
    var pursuit = new HeldNames.Pursuit(name, lease, ttl, giveUpAt, giveUpAt, decide);
    if (node.requests.add(pursuit)) {
      pursuit.result.thenAccept(outcome -> ended(node, name, lease, outcome));
    }
  }

  private void ended(Life node, Bytes name, @Nullable Ballot lease, CellNode.Outcome outcome) {
    if (outcome instanceof CellNode.Outcome.Ended ended && ended.step() instanceof Step.Granted g) {
      Owned before = node.owned.get(name);
      if (lease != null && (before == null || g.until() < before.until())) {
        throw new AssertionError("a renewal of " + before + " gave " + g);
      }
      node.owned.put(name, new Owned(node.id, node.boot, g.ballot(), g.until()));
      granted += lease == null ? 1 : 0;
      renewed += lease == null ? 0 : 1;
    }
  }

  private void checkOwners() {
    for (int n = 0; n < NAMES; n++) {
      Owned owner = null;
      for (List<Life> some : List.of(nodes, stopped)) {
        for (Life node : some) {
          Owned lease = node.holds(name(n));
          if (lease != null && owner != null) {
            throw new AssertionError("two owners at " + now + ": " + owner + " and " + lease);
          }
          owner = lease == null ? owner : lease;
        }
      }
    }
  }
}
