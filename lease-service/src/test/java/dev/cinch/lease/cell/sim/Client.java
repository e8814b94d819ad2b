package dev.cinch.lease.cell.sim;

import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Message;
import dev.cinch.lease.cell.Message.Outbox;
import dev.cinch.lease.cell.Proposer;
import dev.cinch.lease.cell.Step;
import dev.cinch.lease.sim.Broken;
import java.util.List;

/** A node's proposer for one name, and what its user wants of it. */
final class Client {
  private final World world;
  private final Node node;
  private final Bytes name;
  private final int life;
  private Proposer proposer;
  private Bytes proposed = Bytes.EMPTY;

  /** The wake-up that counts; those before it are cancelled. */
  private long wakeUp = -1;

  Client(World world, Node node, Bytes name) {
    this.world = world;
    this.node = node;
    this.name = name;
    this.life = node.boot;
    this.proposer = node.proposer(name);
  }

  Proposer proposer() {
    return proposer;
  }

  void begin() {
    later(world.rng.between(0, world.plan.longest() / 2));
  }

  /** Does something with the lease, in a while. */
  private void later(long nanos) {
    world.in(nanos, () -> act(this::decide));
  }

  private void act(Node.Handler handler) {
    if (node.isUp() && node.boot == life) {
      node.handle(handler);
    }
  }

  private void decide(long now, List<Node.Sent> sent) {
    Plan plan = world.plan;
    Outbox out = out(sent);
    if (proposer.isTrying() && world.rng.chance(0.8)) {
      return;
    }
    if (!proposer.holds(now)) {
      if (!proposer.isTrying() && world.rng.chance(0.2)) {
        proposer = node.proposer(name); // as a node that keeps none for what it doesn't hold
      }
      proposer.acquire(now, ttl(), patience(), out);
      began(sent);
    } else if (world.rng.chance(plan.releases())) {
      proposer.release(now, out);
      later(world.rng.between(0, plan.longest()));
    } else if (world.rng.chance(plan.renewals())) {
      proposer.renew(now, ttl(), patience(), out);
      began(sent);
    } else {
      later(world.rng.between(0, plan.longest()));
    }
    arm();
    world.judge.look(name);
  }

  private void began(List<Node.Sent> sent) {
    for (Node.Sent s : sent) {
      if (s.message() instanceof Message.Prepare prepare) {
        world.judge.began(name, prepare.ballot());
        return;
      }
    }
  }

  private long ttl() {
    return world.rng.between(world.algorithm.shortest(world.plan), world.plan.longest());
  }

  private long patience() {
    return world.rng.chance(0.3)
        ? world.rng.between(1, world.plan.longest())
        : world.plan.longest() * 2;
  }

  private static Outbox out(List<Node.Sent> sent) {
    return (to, message) -> sent.add(new Node.Sent(to, message));
  }

  void receive(int from, Message message, long now, List<Node.Sent> sent) {
    long until = proposer.heldUntil();
    Step step = proposer.receive(from, message, now, out(sent));
    stepped(step, until, now, sent);
  }

  private void wake(long now, List<Node.Sent> sent) {
    if (now >= proposer.wakeAt()) {
      long until = proposer.heldUntil();
      stepped(proposer.wake(now, out(sent)), until, now, sent);
    } else {
      arm();
    }
  }

  private void stepped(Step step, long until, long now, List<Node.Sent> sent) {
    boolean over = now >= until && proposer.heldUntil() == 0;
    if (!(step instanceof Step.Granted) && proposer.heldUntil() != until && !over) {
      throw new Broken("P7: " + step + " moved the end of " + proposer.ballot());
    }
    if (step != Step.Pending.PENDING) {
      world.trace("%d  %s", node.id, step);
    }
    if (step instanceof Step.Found found) {
      found(found, now, sent);
    } else if (step instanceof Step.Granted granted) {
      if (granted.until() < until) {
        throw new Broken("P7: renewing " + granted.ballot() + " made it shorter");
      }
      world.judge.granted(node, name, granted, proposed, now);
      watchEnd();
      later(world.rng.between(0, world.plan.longest()));
    } else if (step instanceof Step.Held held) {
      later(Math.max(0, held.retryAfterNanos()) + world.rng.between(0, world.plan.longest() / 10));
    } else if (step != Step.Pending.PENDING) {
      later(world.rng.between(0, world.plan.longest() / 4));
    }
    arm();
    world.judge.look(name);
  }

  private void found(Step.Found found, long now, List<Node.Sent> sent) {
    Bytes value = world.judge.found(node, name, found);
    if (world.rng.chance(world.plan.dither())) {
      Proposer asked = proposer;
      world.in(
          world.rng.between(0, world.plan.longest() / 2),
          () ->
              act(
                  (later, out) -> {
                    if (proposer == asked && proposer.waitsFor(found)) {
                      propose(found, value, later, out);
                    }
                  }));
    } else {
      propose(found, value, now, sent);
    }
  }

  private void propose(Step.Found found, Bytes value, long now, List<Node.Sent> sent) {
    proposed = value;
    long until = proposer.heldUntil();
    stepped(proposer.propose(found, value, now, out(sent)), until, now, sent);
  }

  /** Looks at what happens just before its lease ends, and then. */
  void watchEnd() {
    long end = node.clock.when(proposer.heldUntil());
    if (end >= world.time) {
      world.at(Math.max(world.time, end - 1), () -> world.judge.excluded(node, name));
      world.at(end, () -> world.judge.look(name));
    }
  }

  /** Has it woken when it wants to be. */
  private void arm() {
    long local = proposer.wakeAt();
    if (local == Long.MAX_VALUE || local == wakeUp) {
      return;
    }
    wakeUp = local;
    world.at(
        Math.max(world.time + 1, node.clock.when(local)),
        () -> {
          if (wakeUp == local) {
            wakeUp = -1;
            act(this::wake);
          }
        });
  }
}
