package dev.cinch.lease.cell.sim;

import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Cell;
import dev.cinch.lease.cell.Message;
import dev.cinch.lease.sim.CellWorld;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** A simulated world: real time, a network, nodes, and a judge. */
final class World extends CellWorld<Plan> {
  /** So many times the longest lease a name may take to be had once faults have stopped. */
  private static final int ROUNDS = 8;

  final Algorithm algorithm;
  final Cell cell;
  final List<Bytes> names;
  final List<Node> nodes = new ArrayList<>();
  final Judge judge;

  World(Algorithm algorithm, long seed) {
    super(seed, Plan::of);
    this.algorithm = algorithm;
    cell = new Cell(IntStream.range(0, plan.acceptors()).boxed().toList(), List.of());
    names = IntStream.range(0, plan.names()).mapToObj(i -> Bytes.of("name-" + i)).toList();
    judge = new Judge(this);
    for (int i = 0; i < plan.nodes(); i++) {
      nodes.add(new Node(this, i));
    }
  }

  /** Runs it to its end; returns how many leases were granted. */
  int run() {
    runTroubled(nodes);
    List<Integer> before = names.stream().map(judge::count).toList();
    runUntilGranted(
        ROUNDS,
        () ->
            IntStream.range(0, names.size())
                .allMatch(i -> judge.anyGranted(names.get(i), before.get(i))));
    return names.stream().mapToInt(judge::count).sum();
  }

  void send(int from, int to, Message message) {
    trace("%d  -> %d %s", from, to, message);
    carry(() -> nodes.get(to).receive(from, message));
  }
}
