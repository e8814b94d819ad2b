package dev.cinch.lease.register.sim;

import dev.cinch.lease.LeaseName;
import dev.cinch.lease.sim.Broken;
import dev.cinch.lease.sim.Events;
import dev.cinch.lease.sim.Rng;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.SigningKey;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** A simulated world: real time, a network, servers that keep the same leases, users, a judge. */
final class World extends Events {
  private static final boolean TRACE = Boolean.getBoolean("cinch.cell.trace");

  /** What right clocks show when it begins. */
  static final long EPOCH = 1_800_000_000_000_000_000L;

  static final long INSTANCE = 7;
  static final PublicKey KEY = SigningKey.ofSeed(new byte[SigningKey.SEED_BYTES]).publicKey();

  /** So many times the longest lease a name may take to be had once faults have stopped. */
  private static final int ROUNDS = 12;

  final Rng rng;
  final Plan plan;
  final List<Integer> ids;
  final List<LeaseName> names;
  final Registry registry = new Registry();
  final Fibers fibers;
  final Judge judge;
  final List<Server> servers = new ArrayList<>();
  final List<User> users = new ArrayList<>();
  private boolean calm;

  World(boolean flease, long seed, Fibers fibers) {
    this.fibers = fibers;
    rng = new Rng(seed);
    plan = Plan.of(flease, rng);
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
    long half = plan.apart() / 2;
    return switch (rng.below(4)) {
      case 0 -> -half;
      case 1 -> half;
      default -> rng.between(-half, half);
    };
  }

  boolean isCalm() {
    return calm;
  }

  /** Runs it to its end; returns how many leases were granted. */
  int run() {
    trace("%s", plan);
    for (Server server : servers) {
      server.start();
      troubles(server);
    }
    if (rng.chance(plan.crash() / 4)) {
      at(rng.between(0, plan.end()), () -> servers.forEach(this::crash));
    }
    users.forEach(User::begin);
    runUntil(plan.end());
    calm = true;
    trace("faults stop");
    for (Server server : servers) {
      if (server.life == null) {
        server.start();
      }
    }
    judge.calm();
    for (int n = 0; n < ROUNDS && !judge.allGranted(); n++) {
      runUntil(time + plan.longestMs() * Plan.MS);
    }
    if (!judge.allGranted()) {
      throw new Broken("not every name was granted although faults had stopped");
    }
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

  /** Crashes, and clocks that change. */
  private void troubles(Server server) {
    for (int n = draws(plan.crash()); n > 0; n--) {
      at(rng.between(0, plan.end()), () -> crash(server));
    }
    for (int n = draws(plan.disturb()); n > 0; n--) {
      at(rng.between(0, plan.end()), server::disturb);
    }
  }

  /** A server crashes, and starts again in a while. */
  private void crash(Server server) {
    server.crash();
    at(
        time + (rng.chance(0.5) ? rng.below(1_000) : rng.between(0, 500 * Plan.MS)),
        () -> {
          if (server.life == null) {
            server.start();
          }
        });
  }

  /** How often something happens that happens so often on average in four leases' time. */
  private int draws(double mean) {
    double expected = mean * plan.end() / (plan.longestMs() * Plan.MS) / 4;
    return (int) expected + (rng.chance(expected - (int) expected) ? 1 : 0);
  }

  long pause() {
    if (calm || !rng.chance(plan.pause())) {
      return 0;
    }
    long longest = plan.longestMs() * Plan.MS;
    return rng.between(1, rng.chance(0.3) ? longest * 3 / 2 : longest / 10);
  }

  /** Tells what happens, if asked to: {@code -Dcinch.cell.trace=true}. */
  @com.google.errorprone.annotations.FormatMethod
  void trace(String format, Object... what) {
    if (TRACE) {
      System.err.printf("%,15d  ", time);
      System.err.printf(format + "%n", what);
    }
  }

  /** A datagram between nodes. */
  void send(int to, byte[] datagram) {
    carry(() -> servers.get(to - 1).receive(datagram));
  }

  /** A message that may be lost, doubled, or late. */
  void carry(Runnable arrival) {
    if (!calm && rng.chance(plan.loss())) {
      return;
    }
    arrive(arrival);
    if (!calm && rng.chance(plan.doubled())) {
      arrive(arrival);
    }
  }

  private void arrive(Runnable arrival) {
    long delay = rng.between(Plan.MS / 10, 2 * Plan.MS);
    if (!calm && rng.chance(plan.late())) {
      long longest = plan.longestMs() * Plan.MS;
      delay = rng.between(0, rng.chance(0.5) ? 2 * longest : longest / 4);
    }
    at(time + delay, arrival);
  }
}
