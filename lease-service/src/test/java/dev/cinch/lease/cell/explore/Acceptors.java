package dev.cinch.lease.cell.explore;

import dev.cinch.lease.cell.Acceptor;
import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Message;
import dev.cinch.lease.cell.Message.Memory;
import dev.cinch.lease.cell.Message.Outbox;
import dev.cinch.lease.cell.Step;
import dev.cinch.lease.sim.Broken;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The states of acceptors, which are the same for all three: their messages are as of the first.
 */
final class Acceptors extends Machines<Acceptor> {
  private final List<int[]> lives = new ArrayList<>();
  private final Map<Long, Memory> told = new HashMap<>();

  Acceptors(Subject subject, Network network) {
    super(subject, network);
  }

  @Override
  int sent(int to, Message message) {
    return network.number(to, 0, message);
  }

  @Override
  Acceptor make(int boot, int reading) {
    return subject.acceptor(boot, reading * Subject.TICK);
  }

  @Override
  Step apply(Acceptor machine, int code, long now, Outbox out) {
    Network.Sent sent = network.get(code - DELIVER);
    machine.receive(sent.proposer(), sent.message(), now, out);
    return Step.Pending.PENDING;
  }

  @Override
  String show(Acceptor machine) {
    return machine.toString();
  }

  @Override
  void met(int state, int boot, int start, Acceptor machine) {
    lives.add(new int[] {boot, start});
  }

  @Override
  int boot(int state) {
    return lives.get(state)[0];
  }

  @Override
  int start(int state) {
    return lives.get(state)[1];
  }

  private boolean silent(int state, int reading) {
    return reading < start(state) + subject.quarantine();
  }

  @Override
  void check(int from, int code, int reading, Move move) {
    if (silent(from, reading) && (!move.sent().isEmpty() || move.to() != from)) {
      throw new Broken("P5: an acceptor is quarantined, and takes a message");
    }
    if (network.get(code - DELIVER).message() instanceof Message.Release release) {
      Memory before = tell(from, reading);
      Memory after = tell(move.to(), reading);
      if (before != null
          && before.live()
          && !before.equals(after)
          && !(before.ballot().sameOwner(release.last())
              && !before.ballot().below(release.first())
              && !release.last().below(before.ballot()))) {
        throw new Broken("P9: " + release + " ends " + before.ballot());
      }
    }
  }

  private @Nullable Memory tell(int state, int reading) {
    var memories = new ArrayList<Memory>(1);
    at(state)
        .receive(
            -1,
            new Message.Query(Subject.NAME),
            reading * Subject.TICK,
            (to, m) -> memories.add(((Message.Told) m).memory()));
    return memories.isEmpty() ? null : memories.get(0);
  }

  /** Whether nobody but an owner gets the lease of it. */
  boolean excludes(int state, Ballot owner, int reading) {
    if (silent(state, reading)) {
      return true;
    }
    Memory memory = told.computeIfAbsent(((long) state << 16) | reading, k -> tell(state, reading));
    return memory != null && memory.live() && memory.ballot().sameOwner(owner);
  }
}
