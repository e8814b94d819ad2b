package dev.cinch.lease.register.sim;

import dev.cinch.lease.LeaseName;
import dev.cinch.lease.sim.Broken;
import dev.cinch.lease.sim.CellWorld;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.SigningKey;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** A simulated world: real time, a network, servers that keep the same leases, users, a judge. */
final class World extends CellWorld<Plan> {
  static final long INSTANCE = 7;
  static final PublicKey KEY = SigningKey.ofSeed(new byte[SigningKey.SEED_BYTES]).publicKey();

  /** So many times the longest lease a name may take to be had once faults have stopped. */
  private static final int ROUNDS = 12;

  final List<Integer> ids;
  final List<LeaseName> names;
  final Registry registry = new Registry();
  final Fibers fibers;
  final Judge judge;
  final List<Server> servers = new ArrayList<>();
  final List<User> users = new ArrayList<>();

  World(boolean flease, long seed, Fibers fibers) {
    super(seed, rng -> Plan.of(flease, rng));
    this.fibers = fibers;
    ids = IntStream.rangeClosed(1, plan.nodes()).boxed().toList();
    names = IntStream.range(0, plan.names()).mapToObj(i -> new LeaseName("n" + i)).toList();
    judge = new Judge(this);
    ids.forEach(id -> servers.add(new Server(this, id)));
    for (int i = 0; i < plan.users(); i++) {
      users.add(new User(this, i));
    }
  }

  /** A clock may be off by half of what two may be apart. */
  long anyOffset() {
    return rng.edge(-plan.apart() / 2, plan.apart() / 2);
  }

  /** Runs it to its end; returns how many leases were granted. */
  int run() {
    trace("%s", plan);
    if (rng.chance(plan.crash() / 4)) {
      at(rng.between(0, plan.end()), () -> servers.forEach(this::crash));
    }
    users.forEach(User::begin);
    runTroubled(servers);
    judge.calm();
    runUntilGranted(ROUNDS, judge::allGranted);
    users.forEach(User::rest);
    runUntil(time + 10_000 * Plan.MS);
    for (Server server : servers) {
      if (!server.isIdle()) {
        throw new Broken("server " + server.id + " still has not answered a request");
      }
    }
    return judge.granted();
  }

  /** Ends what waits, so that the fibers can be used again. */
  void end() {
    servers.forEach(Server::crash);
  }

  /** A datagram between nodes. */
  void send(int to, byte[] datagram) {
    carry(() -> servers.get(to - 1).receive(datagram));
  }
}
