package dev.cinch.lease.cell.sim;

import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Cell;
import dev.cinch.lease.cell.Message;
import dev.cinch.lease.sim.Broken;
import dev.cinch.lease.sim.Events;
import dev.cinch.lease.sim.Rng;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** A simulated world: real time, a network, nodes, and a judge. */
final class World extends Events {
  private static final boolean TRACE = Boolean.getBoolean("cinch.cell.trace");

  final Rng rng;
  final Plan plan;
  final Algorithm algorithm;
  final Cell cell;
  final List<Bytes> names;
  final List<Node> nodes = new ArrayList<>();
  final Judge judge;

  private boolean calm;

  World(Algorithm algorithm, long seed) {
    this.algorithm = algorithm;
    rng = new Rng(seed);
    plan = Plan.of(rng);
    cell = new Cell(IntStream.range(0, plan.acceptors()).boxed().toList(), List.of());
    names = IntStream.range(0, plan.names()).mapToObj(i -> Bytes.of("name-" + i)).toList();
    judge = new Judge(this);
    for (int i = 0; i < plan.nodes(); i++) {
      nodes.add(new Node(this, i, algorithm.clock(plan, rng, 0)));
    }
  }

  /** Runs it to its end; returns how many leases were granted. */
  int run() {
    for (Node node : nodes) {
      node.start(node.clock);
      troubles(node);
    }
    runUntil(plan.end());
    calm = true;
    for (Node node : nodes) {
      if (!node.up) {
        start(node);
      }
    }
    List<Integer> before = names.stream().map(judge::count).toList();
    for (int n = 0; n < 8 && !allGranted(before); n++) {
      runUntil(time + plan.longest());
    }
    int granted = 0;
    for (int i = 0; i < names.size(); i++) {
      if (!judge.anyGranted(names.get(i), before.get(i))) {
        throw new Broken("nobody got " + i + " although faults had stopped");
      }
      granted += judge.count(names.get(i));
    }
    return granted;
  }

  private boolean allGranted(List<Integer> before) {
    return IntStream.range(0, names.size())
        .allMatch(i -> judge.anyGranted(names.get(i), before.get(i)));
  }

  private void start(Node node) {
    node.start(algorithm.clock(plan, rng, time));
  }

  /** Crashes, and clocks that change. */
  private void troubles(Node node) {
    for (int n = draws(plan.crash()); n > 0; n--) {
      at(
          rng.between(0, plan.end()),
          () -> {
            if (node.up) {
              node.crash();
              names.forEach(judge::look);
              at(
                  time + (rng.chance(0.5) ? rng.below(1_000) : rng.between(0, plan.longest())),
                  () -> {
                    if (!node.up) {
                      start(node);
                    }
                  });
            }
          });
    }
    for (int n = draws(plan.disturb()); n > 0; n--) {
      at(
          rng.between(0, plan.end()),
          () -> {
            algorithm.disturb(plan, rng, node.clock, time);
            names.forEach(judge::look);
            node.clients.values().forEach(Client::watchEnd);
          });
    }
  }

  /** How often something happens that happens so often on average in ten leases' time. */
  private int draws(double mean) {
    double expected = mean * plan.end() / plan.longest() / 3;
    return (int) expected + (rng.chance(expected - (int) expected) ? 1 : 0);
  }

  long pause() {
    if (calm || !rng.chance(plan.pause())) {
      return 0;
    }
    return rng.between(1, rng.chance(0.3) ? 2 * plan.longest() : plan.longest() / 10);
  }

  /** Tells what happens, if asked to: {@code -Dcinch.cell.trace=true}. */
  void trace(int node, String what) {
    if (TRACE) {
      System.err.printf("%,15d  %d  %s%n", time, node, what);
    }
  }

  void send(int from, int to, Message message) {
    if (TRACE) {
      trace(from, "-> " + to + " " + message);
    }
    if (!calm && rng.chance(plan.loss())) {
      return;
    }
    deliver(from, to, message);
    if (!calm && rng.chance(plan.doubled())) {
      deliver(from, to, message);
    }
  }

  private void deliver(int from, int to, Message message) {
    long delay = rng.between(Plan.MS / 10, 2 * Plan.MS);
    if (!calm && rng.chance(plan.late())) {
      delay = rng.between(0, rng.chance(0.5) ? 3 * plan.longest() : plan.longest() / 2);
    }
    at(time + delay, () -> nodes.get(to).receive(from, message));
  }
}
