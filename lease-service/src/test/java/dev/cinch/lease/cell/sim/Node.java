package dev.cinch.lease.cell.sim;

import dev.cinch.lease.cell.Acceptor;
import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Ballot.Ballots;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Message;
import dev.cinch.lease.cell.Message.Memory;
import dev.cinch.lease.cell.Proposer;
import dev.cinch.lease.sim.Broken;
import dev.cinch.lease.sim.CellWorld;
import dev.cinch.lease.sim.SimClock;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A node of a world: an acceptor, unless it only proposes, and a proposer for each name. */
final class Node implements CellWorld.Machine {
  final World world;
  final int id;

  /** How often it has started; kept when it crashes. */
  int boot;

  private boolean up;
  SimClock clock;

  /**
   * When, by its clock, its acceptor may speak: what this must be, not what the acceptor thinks.
   */
  long silentUntil;

  /** A handler is paused until then. */
  long busyUntil;

  @Nullable Acceptor acceptor;
  private Ballots ballots = new Ballots(0, 0);
  final Map<Bytes, Client> clients = new HashMap<>();

  Node(World world, int id) {
    this.world = world;
    this.id = id;
    this.clock = newClock();
  }

  private SimClock newClock() {
    return world.algorithm.clock(world.plan, world.rng, world.time);
  }

  @Override
  public boolean isUp() {
    return up;
  }

  @Override
  public void start() {
    clock = newClock();
    boot++;
    world.trace("%d  starts %d", id, boot);
    up = true;
    busyUntil = world.time;
    long now = clock.read(world.time);
    silentUntil = now + world.algorithm.quarantine(world.plan);
    acceptor = id < world.plan.acceptors() ? world.algorithm.acceptor(world.plan, boot, now) : null;
    ballots = new Ballots(id, boot);
    clients.clear();
    for (Bytes name : world.names) {
      Client client = new Client(world, this, name);
      clients.put(name, client);
      client.begin();
    }
  }

  Proposer proposer(Bytes name) {
    return world.algorithm.proposer(world.plan, world.cell, ballots, name);
  }

  @Override
  public void crash() {
    up = false;
    acceptor = null;
    clients.clear();
    world.names.forEach(world.judge::look);
  }

  @Override
  public void disturb() {
    world.algorithm.disturb(world.plan, world.rng, clock, world.time);
    world.names.forEach(world.judge::look);
    clients.values().forEach(Client::watchEnd);
  }

  /** A handler of this node. */
  interface Handler {
    void run(long now, List<Sent> out);
  }

  /** What a handler sent. */
  record Sent(int to, Message message) {}

  /**
   * Runs a handler, which may be paused after it has read the clock, or before its messages leave.
   */
  void handle(Handler handler) {
    int life = boot;
    if (!up) {
      return;
    }
    if (busyUntil > world.time) {
      world.at(busyUntil, () -> resume(life, handler));
      return;
    }
    long now = clock.read(world.time);
    long pause = world.pause();
    if (pause > 0 && world.rng.chance(0.5)) {
      busyUntil = world.time + pause;
      world.at(busyUntil, () -> run(life, handler, now, 0));
    } else {
      run(life, handler, now, pause);
    }
  }

  private void resume(int life, Handler handler) {
    if (boot == life) {
      handle(handler);
    }
  }

  private void run(int life, Handler handler, long now, long pause) {
    if (!up || boot != life) {
      return;
    }
    var out = new ArrayList<Sent>();
    handler.run(now, out);
    busyUntil = world.time + pause;
    if (pause == 0) {
      leave(out);
    } else {
      world.at(
          busyUntil,
          () -> {
            if (up && boot == life) {
              leave(out);
            }
          });
    }
  }

  private void leave(List<Sent> out) {
    for (Sent sent : out) {
      world.send(id, sent.to(), sent.message());
    }
  }

  void receive(int from, Message message) {
    handle(
        (now, out) -> {
          world.trace("%d  <- %d %s", id, from, message);
          if (message instanceof Message.Prepare
              || message instanceof Message.Accept
              || message instanceof Message.Release) {
            accept(from, message, now, out);
          } else {
            Client client = clients.get(message.name());
            if (client != null) {
              client.receive(from, message, now, out);
            }
          }
        });
  }

  private void accept(int from, Message message, long now, List<Sent> out) {
    if (acceptor == null) {
      return;
    }
    Memory before =
        message instanceof Message.Release ? query(acceptor, message.name(), now) : null;
    int size = out.size();
    acceptor.receive(from, message, now, (to, m) -> out.add(new Sent(to, m)));
    for (Sent sent : out.subList(size, out.size())) {
      world.judge.answers(this, sent.message(), now);
    }
    if (message instanceof Message.Release release
        && before != null
        && before.live()
        && !(before.ballot().sameOwner(release.last())
            && !before.ballot().below(release.first())
            && !release.last().below(before.ballot()))
        && !before.equals(query(acceptor, message.name(), now))) {
      throw new Broken("P9: " + release + " ended " + before.ballot());
    }
    if (world.rng.chance(0.1)) {
      acceptor.sweep(now, 4);
    }
  }

  private static @Nullable Memory query(Acceptor acceptor, Bytes name, long now) {
    var told = new ArrayList<Memory>(1);
    acceptor.receive(
        -1, new Message.Query(name), now, (to, m) -> told.add(((Message.Told) m).memory()));
    return told.isEmpty() ? null : told.get(0);
  }

  boolean holds(Bytes name, long time) {
    Client client = clients.get(name);
    return up && client != null && client.proposer().holds(clock.read(time));
  }

  Ballot ballot(Bytes name) {
    Client client = clients.get(name);
    return client == null ? Ballot.NONE : client.proposer().ballot();
  }

  /** Whether its acceptor gives a name to nobody but an owner. */
  boolean excludes(Bytes name, Ballot owner, long time) {
    if (id >= world.plan.acceptors()) {
      return false;
    }
    if (acceptor == null || clock.read(time) < silentUntil) {
      return true;
    }
    Memory memory = query(acceptor, name, clock.read(time));
    return memory == null || (memory.live() && memory.ballot().sameOwner(owner));
  }
}
