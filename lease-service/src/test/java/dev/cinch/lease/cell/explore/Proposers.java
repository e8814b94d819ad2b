package dev.cinch.lease.cell.explore;

import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Ballot.Ballots;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Message;
import dev.cinch.lease.cell.Message.Memory;
import dev.cinch.lease.cell.Message.Outbox;
import dev.cinch.lease.cell.Proposer;
import dev.cinch.lease.cell.Step;
import dev.cinch.lease.sim.Broken;
import java.util.ArrayList;
import java.util.List;

/** The states of a proposer. */
final class Proposers extends Machines<Proposers.Asked> {
  /** A proposer, its node's ballots, and what it found last. */
  static final class Asked {
    private final Ballots ballots;
    private final Proposer proposer;
    private Step last = Step.Pending.PENDING;
    private Ballot trying = Ballot.NONE;

    private Asked(Subject subject, Ballots ballots) {
      this.ballots = ballots;
      this.proposer = subject.proposer(ballots);
    }

    /** Notes the ballot of an attempt that begins. */
    private Outbox noting(Outbox out) {
      return (to, message) -> {
        if (message instanceof Message.Prepare prepare) {
          trying = prepare.ballot();
        }
        out.send(to, message);
      };
    }
  }

  /** What a whole cell must know of a state. */
  record View(int boot, Ballot trying, long wakeAt, long heldUntil, Ballot held) {
    boolean isTrying() {
      return trying.counter() > 0;
    }
  }

  static final int RELEASE = 1;
  static final int WAKE = 2;

  /** Proposes value 0; others follow. */
  static final int PROPOSE = 10;

  /** Acquires for the longest time; shorter ones follow. */
  static final int ACQUIRE = 100;

  static final int RENEW = 200;

  private final List<View> views = new ArrayList<>();

  private final int node;

  Proposers(Subject subject, Network network, int node) {
    super(subject, network);
    this.node = node;
  }

  @Override
  int sent(int to, Message message) {
    return network.number(node, to, message);
  }

  @Override
  Asked make(int boot, int reading) {
    return new Asked(subject, new Ballots(node, boot));
  }

  @Override
  Step apply(Asked machine, int code, long now, Outbox out) {
    Proposer proposer = machine.proposer;
    Step step = Step.Pending.PENDING;
    if (code >= DELIVER) {
      Network.Sent sent = network.get(code - DELIVER);
      step = proposer.receive(Network.acceptor(code - DELIVER), sent.message(), now, out);
    } else if (code >= RENEW) {
      proposer.renew(now, ttl(code - RENEW), Long.MAX_VALUE / 4, machine.noting(out));
    } else if (code >= ACQUIRE) {
      proposer.acquire(now, ttl(code - ACQUIRE), Long.MAX_VALUE / 4, machine.noting(out));
    } else if (code >= PROPOSE) {
      var value = Bytes.of(new byte[] {(byte) (code - PROPOSE)});
      step = proposer.propose((Step.Found) machine.last, value, now, out);
    } else if (code == WAKE) {
      step = proposer.wake(now, out);
    } else {
      proposer.release(now, out);
    }
    machine.last = step;
    return step;
  }

  private long ttl(int shorter) {
    return (subject.longest - shorter) * Subject.TICK;
  }

  @Override
  String show(Asked machine) {
    return machine.ballots + " " + machine.proposer;
  }

  @Override
  void met(int state, int boot, int start, Asked machine) {
    Proposer p = machine.proposer;
    views.add(
        new View(
            boot,
            p.isTrying() ? machine.trying : Ballot.NONE,
            p.wakeAt(),
            p.heldUntil(),
            p.ballot()));
  }

  View view(int state) {
    return views.get(state);
  }

  @Override
  int boot(int state) {
    return view(state).boot();
  }

  @Override
  int start(int state) {
    return 0;
  }

  @Override
  void check(int from, int code, int reading, Move move) {
    long before = view(from).heldUntil();
    long after = view(move.to()).heldUntil();
    long now = reading * Subject.TICK;
    boolean over = after == 0 && (now >= before || code == RELEASE);
    if (move.step() instanceof Step.Granted granted) {
      if (granted.until() < before) {
        throw new Broken("P7: " + granted.ballot() + " makes a lease shorter");
      }
      if (granted.until() <= now) {
        throw new Broken("P2: " + granted.ballot() + " is granted after its end");
      }
    } else if (after != before && !over) {
      throw new Broken("P7: " + move.step() + " moves the end of " + view(from).held());
    }
  }

  /** The number of the lease to propose: one more than that of any that was found. */
  static int next(Step.Found found, int granted) {
    int highest = found.remembered() ? 0 : granted;
    for (Memory memory : found.lasts()) {
      highest = Math.max(highest, number(memory.value()));
    }
    return highest + 1;
  }

  static int number(Bytes value) {
    return value.toArray()[0];
  }
}
