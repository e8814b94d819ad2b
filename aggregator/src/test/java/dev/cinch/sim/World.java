package dev.cinch.sim;

import dev.cinch.bag.storage.object.FakeObjects;
import dev.cinch.lease.sim.Lanes;
import dev.cinch.lease.sim.Rng;
import dev.cinch.lease.sim.SimClock;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.sim.fs.FaultKind;
import dev.cinch.sim.fs.Faults;
import dev.cinch.sim.fs.ObjectServer;
import dev.cinch.sim.fs.ServerTree;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;

/** Everything of one run. Confined to whichever process runs. */
final class World {
  static final Path ROOT = Path.of("/s");
  static final int FIRST_USER = 1001;
  private static final long MS = 1_000_000;
  private static final long STEP_LIMIT = 30_000;

  /** Who rests for two hours may be killed, and rest once more. */
  private static final long TIME_LIMIT = 24 * 3_600_000_000_000L;

  private static final int MOST_RESTARTS = 6;

  final Plan plan;
  final Lanes<SimProcess> lanes;
  final Scheduler scheduler;
  final Faults faults;
  final ServerTree server;
  final ObjectServer objects;
  final History history = new History();
  final List<SimMachine> machines = new ArrayList<>();
  final LeaseHost leases;
  private final java.util.Set<String> killed = new java.util.HashSet<>();
  private final Rng rng;
  int nextProcess;
  int crashes;
  private int restarts;
  private long serverOffset;

  World(Plan plan, Workbench bench) {
    this.plan = plan;
    this.lanes = bench.lanes;
    this.rng = Rng.of(plan.seed(), 2);
    this.scheduler =
        new Scheduler(
            lanes, plan.seed(), plan.byPriority(), plan.longestBurst(), STEP_LIMIT, TIME_LIMIT);
    this.faults = new Faults(plan.seed(), plan.on(), plan.ambushes());
    this.server =
        plan.ofObjects()
            ? new ServerTree(plan.kind(), plan.umask(), 1, this::serverClock, ROOT)
            : bench
                .image(plan)
                .copy(plan.kind(), plan.umask(), plan.tickNanos(), this::serverClock);
    var clock = new ServerTime(this::serverClock);
    this.objects =
        new ObjectServer(
            plan.ofObjects() ? bench.objects(plan).copy(clock) : new FakeObjects(clock), faults);
    for (int i = 0; i < plan.machines(); i++) {
      machines.add(machine("m" + i, user(i)));
    }
    this.leases = new LeaseHost(this, machine("service", FIRST_USER), bench.signer, bench.register);
    scheduler.atLimit(this::calm);
  }

  /** Of a server that does not wait. */
  private record ServerTime(LongSupplier clock) implements TimeSource {
    @Override
    public long wallNanos() {
      return clock.getAsLong();
    }

    @Override
    public long monotonicNanos() {
      return clock.getAsLong();
    }

    @Override
    public void sleepNanos(long nanos) {
      throw new IllegalStateException("a server waits for nobody");
    }
  }

  /** What it has, a line each. */
  String describe() {
    return plan.ofObjects() ? objects.toString() : server.describe();
  }

  private long serverClock() {
    return SimClock.EPOCH + scheduler.now() + serverOffset;
  }

  private int user(int machine) {
    return plan.users() < 0 ? machine == 0 ? 0 : FIRST_USER : FIRST_USER + machine % plan.users();
  }

  SimMachine machine(String name, int user) {
    // Within what the store allows, after the filesystem's clock was rounded down to a tick.
    long bound = (plan.boundMs() * MS - plan.roundedNanos()) * 8 / 10;
    long offset = rng.nextLong(-bound, bound);
    if (plan.on().contains(FaultKind.CLOCK_STEP) && rng.oneIn(6)) {
      offset *= 4; // more than the store allows
    }
    return new SimMachine(
        name,
        user,
        scheduler,
        new SimClock(0, SimClock.EPOCH + offset, 1 + rng.between(-200, 200) / 1e6),
        SimClock.anywhere(0, rng, 1 + rng.between(-3_000, 3_000) / 1e6));
  }

  /** How many logs there are for actors now. */
  int logs() {
    return scheduler.now() < plan.lastLogNanos() ? plan.firstLogs() : plan.logs();
  }

  /** Draws actors and starts all. */
  void populate() {
    if (plan.leased()) {
      leases.start();
    }
    int n = 0;
    for (Role role : plan.roles()) {
      SimMachine machine = machines.get(rng.below(machines.size()));
      start(machine, role.processName() + n, actor(role, n));
      n++;
    }
    scheduler.in(plan.faultsEndNanos(), this::calm);
    clockSteps(FaultKind.CLOCK_STEP);
    clockSteps(FaultKind.SERVER_CLOCK_STEP);
  }

  private Actor actor(Role role, int n) {
    Rng mine = Rng.of(plan.seed(), 100 + n);
    return switch (role) {
      case APPENDER -> new AppenderActor(this, mine);
      case SESSION -> new SessionActor(this, mine);
      case TENTATIVE -> new TentativeActor(this, mine);
      case CLOSER ->
          new CloserActor(
              this, mine, Rng.of(plan.seed(), 1_000 + n), Rng.of(plan.seed(), 3_000 + n));
      case READER -> new ReaderActor(this, mine);
      case AGGREGATOR -> new AggregatorActor(this, mine);
      case EXPIRER -> new ExpirerActor(this, mine);
      case REMOVER -> new RemoverActor(this, mine);
      case BACKUP -> new BackupActor(this, mine);
      case CUTTER -> new CutterActor(this, mine);
    };
  }

  private void start(SimMachine machine, String name, Actor actor) {
    var process = new SimProcess(this, machine, name, actor);
    process.wakeAt = scheduler.now() + rng.nextLong(plan.widthMs() * MS);
    scheduler.add(process);
    actors.add(actor);
  }

  private final List<Actor> actors = new ArrayList<>();

  /** A process is over; one that was killed starts again in a while. */
  void ended(SimProcess p, boolean crashed) {
    if (crashed) {
      killed.add(p.toString());
    }
    if (!crashed || !(p.body() instanceof Actor actor) || actor.done()) {
      return;
    }
    crashes++;
    if (restarts++ >= MOST_RESTARTS || scheduler.stuck() != null || scheduler.failure() != null) {
      return;
    }
    scheduler.expect();
    scheduler.in(
        faults.rng().spread(1_000_000, 5_000_000_000L),
        () -> {
          scheduler.expectNoMore();
          start(p.machine(), p + "'", actor);
        });
  }

  /** Faults stop, and what people would repair is repaired. */
  void calm() {
    if (faults.stopped()) {
      return;
    }
    faults.stop();
    server.repairModes();
    serverOffset = 0;
    machines.forEach(SimMachine::setClock);
    leases.calm();
    scheduler.note(dev.cinch.sim.fs.Op.NOTE, "world", 0, "faults stop");
  }

  private void clockSteps(FaultKind kind) {
    if (!plan.on().contains(kind)) {
      return;
    }
    scheduler.in(
        rng.spread(100 * MS, 20_000 * MS),
        () -> {
          if (faults.stopped()) {
            return;
          }
          long step = faults.rng().spread(MS, 5_000 * MS) * (faults.rng().oneIn(2) ? 1 : -1);
          if (kind == FaultKind.CLOCK_STEP) {
            machines.get(faults.rng().below(machines.size())).step(step);
          } else {
            serverOffset += step;
          }
          faults.count(kind);
          scheduler.note(dev.cinch.sim.fs.Op.NOTE, "world", 0, kind.name());
          clockSteps(kind);
        });
  }

  /** The server may lose what was not forced; called at some operations. */
  void maybeReboot() {
    if (faults.strike(FaultKind.SERVER_REBOOT)) {
      reboot();
    }
  }

  private void reboot() {
    server.reboot(faults.rng());
    scheduler.note(dev.cinch.sim.fs.Op.NOTE, "world", 0, "server reboots");
  }

  /** The server loses what was not forced, soon, if it ever does. */
  void rebootSoon() {
    if (plan.on().contains(FaultKind.SERVER_REBOOT)) {
      scheduler.in(
          faults.rng().spread(1_000_000, 1_000_000_000),
          () -> {
            if (!faults.stopped()) {
              reboot();
            }
          });
    }
  }

  boolean wasKilled(String name) {
    return killed.contains(name);
  }
}
