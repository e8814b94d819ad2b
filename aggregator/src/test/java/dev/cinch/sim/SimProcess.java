package dev.cinch.sim;

import dev.cinch.bag.Store;
import dev.cinch.bag.write.FateUnknownException;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.hold.LeaseKeeper;
import dev.cinch.lease.sim.Lanes;
import dev.cinch.lease.sim.Rng;
import dev.cinch.lease.sim.SimCrash;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.sim.fs.Ambush;
import dev.cinch.sim.fs.FaultKind;
import dev.cinch.sim.fs.Faults;
import dev.cinch.sim.fs.FsKind;
import dev.cinch.sim.fs.Gate;
import dev.cinch.sim.fs.Op;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One incarnation of a process, with one thread. */
final class SimProcess implements Gate, TimeSource, Lanes.Task<SimProcess> {
  private static final long DOZE = 5_000_000;
  private static final long LONGEST_PAUSE = 30_000_000_000L;

  /** What it does. */
  interface Body {
    void run(SimProcess me) throws Exception;
  }

  private final World world;
  private final Scheduler scheduler;
  private final Faults faults;
  private final SimMachine machine;
  private final int boot;
  private final String name;
  private final Body body;
  private final Lanes.Lane<SimProcess> lane;
  private final Rng random;
  private final Rng latencies;
  private final List<Killable> files = new ArrayList<>();
  private @Nullable LeaseKeeper keeper;
  private long keeperDue;
  private boolean keeping;
  private boolean dead;
  private boolean machineDied;
  private boolean crashed;
  private boolean over;
  private boolean dozing;
  private @Nullable SimProcess partner;
  private final double latency2;
  private int horizonLooks;

  /** Set by the scheduler, as is {@code priority}. */
  int number;

  long priority;
  long wakeAt;

  SimProcess(World world, SimMachine machine, String name, Body body) {
    this.world = world;
    this.scheduler = world.scheduler;
    this.faults = world.faults;
    this.machine = machine;
    this.boot = machine.boots;
    this.name = name;
    this.body = body;
    long purpose = 1_000 + world.nextProcess++;
    this.random = Rng.of(world.plan.seed(), purpose);
    this.latencies = Rng.of(world.plan.seed(), purpose + 1_000_000);
    this.latency2 = 2.0 * world.plan.latencyNanos();
    this.lane = world.lanes.assign(this);
  }

  /** Starts another thread of this process, which ends with it. */
  SimProcess thread(String itsName, Body itsBody) {
    var other = new SimProcess(world, machine, itsName, itsBody);
    other.wakeAt = scheduler.now();
    partner = other;
    scheduler.add(other);
    return other;
  }

  boolean over() {
    return over;
  }

  /** Whether nothing that it does has an effect any more. */
  boolean gone() {
    return dead || machine.boots != boot;
  }

  /** Whether it sleeps for longer than anybody does in the middle of a write. */
  boolean dozes() {
    return dozing;
  }

  /** From the next operation on it is dead. */
  void kill() {
    dead = true;
  }

  @Override
  public Lanes.Lane<SimProcess> lane() {
    return lane;
  }

  /**
   * How often it made an entry below a horizon, or listed one of objects: who doesn't advance or
   * read one does neither.
   */
  int horizonLooks() {
    return horizonLooks;
  }

  boolean crashed() {
    return crashed;
  }

  Body body() {
    return body;
  }

  SimMachine machine() {
    return machine;
  }

  Rng random() {
    return random;
  }

  /** Opens the store, as often as it takes. */
  Store openStore() throws IOException, InterruptedException {
    SimStore place = store();
    while (true) {
      boolean calm = faults.stopped();
      try {
        return place.open();
      } catch (IOException e) {
        if (calm) {
          throw e;
        }
        sleepNanos(50_000_000);
      }
    }
  }

  SimStore store() {
    return new SimStore(world, machine, this, this, random);
  }

  Store.Environment environment() {
    return store().environment();
  }

  /** Renewals happen between its operations, as on a thread of their own. */
  void keep(@Nullable LeaseKeeper stepped) {
    keeper = stepped;
    keeperDue = Long.MIN_VALUE;
  }

  void keeperMayBeDue() {
    keeperDue = Long.MIN_VALUE;
  }

  /** While it waits for the lease service, which a keeper could not do twice at once. */
  boolean setBusy(boolean busy) {
    boolean before = keeping;
    keeping = busy;
    return before;
  }

  @Override
  public void runToEnd() {
    Throwable why = null;
    scheduler.note(Op.START, name, number, null);
    try {
      if (machine.boots == boot) {
        body.run(this);
      } else {
        crashed = true;
      }
    } catch (SimCrash e) {
      crashed = true;
    } catch (Throwable e) {
      why = hidesCrash(e) || hasExpired(e) ? null : e;
      crashed = true;
    }
    dead = true;
    over = true;
    if (partner != null) {
      partner.kill();
    }
    scheduler.note(crashed ? Op.CRASH : Op.END, name, number, why);
    for (Killable f : files) {
      f.killed(machineDied || machine.boots != boot);
    }
    scheduler.ended(this, why);
    world.ended(this, crashed);
  }

  private static boolean hidesCrash(Throwable e) {
    for (Throwable c = e; c != null; c = c.getCause()) {
      if (c instanceof SimCrash) {
        return true;
      }
    }
    return false;
  }

  /** Its last verdict did: it can't know more, and its work goes on in a new process. */
  private boolean hasExpired(Throwable e) {
    return e instanceof FateUnknownException
        && world.plan.expiring()
        && String.valueOf(e.getMessage()).endsWith(" expired");
  }

  @Override
  public @Nullable SimProcess next() {
    return scheduler.next();
  }

  @Override
  public void enter(Op op, Path path) {
    checkAlive();
    scheduler.note(op, name, number, path);
    if (op == (world.plan.ofObjects() ? Op.LIST : Op.CREATE)
        && path.toString().contains("/horizon/")) {
      horizonLooks++;
    }
    if (isPaused(op)) {
      standStill(pause(), null);
    } else {
      ambush(faults.ambushed(op, path, name));
    }
    maybeCrash();
    world.maybeReboot();
    scheduler.step(10_000 + (long) (latency2 * ((latencies.nextLong() >>> 40) * 0x1.0p-24)));
    checkAlive();
    runKeeper();
  }

  private void ambush(@Nullable Ambush met) {
    if (met == null) {
      return;
    }
    switch (met.what()) {
      case CRASH -> die(false);
      case MACHINE_CRASH -> die(faults.has(FaultKind.MACHINE_CRASH));
      default -> standStill(faults.rng().nextLong(1_000_000, met.longestNanos()), met.until());
    }
  }

  private void standStill(long nanos, Ambush.@Nullable Point until) {
    scheduler.note(Op.NOTE, name, number, "paused");
    scheduler.standStill(nanos, until);
    checkAlive();
  }

  /** A pause matters most between a decision and what follows from it. */
  private boolean isPaused(Op op) {
    int chances =
        switch (op) {
          case CREATE, WRITE, FLUSH, FORCE, CLOSE, LINK, LIST -> 4;
          default -> 1;
        };
    boolean paused = false;
    for (int i = 0; i < chances; i++) {
      paused |= faults.strike(FaultKind.PAUSE);
    }
    return paused;
  }

  private long pause() {
    long grace = world.plan.graceMs() * 1_000_000;
    long longest = 2 * (world.plan.widthMs() * 1_000_000 + grace);
    return switch (faults.rng().below(10)) {
      case 0 -> faults.rng().spread(2_000_000, LONGEST_PAUSE);
      case 1, 2, 3 -> faults.rng().spread(2_000_000, grace);
      default -> faults.rng().nextLong(grace / 2, longest);
    };
  }

  @Override
  public void leave(Op op, Path path) {
    scheduler.passed(op, path);
    maybeCrash();
  }

  private void maybeCrash() {
    if (faults.strike(FaultKind.CRASH)) {
      die(false);
    }
    if (faults.strike(FaultKind.MACHINE_CRASH)) {
      die(true);
    }
  }

  private void die(boolean wholeMachine) {
    dead = true;
    if (wholeMachine) {
      machineDied = true;
      machine.boots++;
      machine.cache.clear();
      if (world.plan.kind() == FsKind.LOCAL) {
        world.server.reboot(faults.rng());
        world.leases.losePower();
      }
    }
    throw new SimCrash(wholeMachine ? "machine" : "process");
  }

  void checkAlive() {
    if (dead || machine.boots != boot) {
      dead = true;
      throw new SimCrash("dead");
    }
  }

  private void runKeeper() {
    LeaseKeeper k = keeper;
    if (k == null || keeping || monotonicNanos() < keeperDue) {
      return;
    }
    keeping = true;
    try {
      long wait = k.doWork();
      keeperDue = wait == Long.MAX_VALUE ? Long.MAX_VALUE : monotonicNanos() + wait;
    } finally {
      keeping = false;
    }
  }

  @Override
  public void failed(Op op, Path path, Exception why) {
    scheduler.note(Op.ERROR, name, number, new Text(why.getClass().getSimpleName(), op));
  }

  private record Text(String text, Op op) {
    @Override
    public int hashCode() {
      return text.hashCode() * 31 + op.ordinal();
    }

    @Override
    public String toString() {
      return text + " from " + op;
    }
  }

  @Override
  public void opened(Killable file) {
    files.add(file);
  }

  @Override
  public void closed(Killable file) {
    files.remove(file);
  }

  @Override
  public long now() {
    return scheduler.now();
  }

  @Override
  public long wallNanos() {
    return machine.wall();
  }

  @Override
  public long monotonicNanos() {
    return machine.monotonic();
  }

  @Override
  public void sleepNanos(long nanos) throws InterruptedException {
    checkAlive();
    if (nanos <= 0) {
      return;
    }
    scheduler.note(Op.SLEEP, name, number, null);
    // The thread that sleeps may be another one of this process.
    SimProcess sleeper = scheduler.running();
    sleeper.dozing = nanos >= DOZE && !isWriting();
    long until = scheduler.now() + nanos + nanos / 50;
    while (true) {
      long left = until - scheduler.now();
      if (left <= 0) {
        sleeper.dozing = false;
        return;
      }
      long due = keeper == null || keeping ? Long.MAX_VALUE : keeperDue - monotonicNanos();
      scheduler.sleepUntil(scheduler.now() + Math.min(left, Math.max(due, 1_000_000)));
      checkAlive();
      runKeeper();
    }
  }

  /** Whether it waits for room in the middle of a write, and has others of its writer wait. */
  private static boolean isWriting() {
    return StackWalker.getInstance()
        .walk(
            frames ->
                frames.anyMatch(
                    f ->
                        f.getMethodName().equals("commitNext")
                            && f.getClassName().equals(LogWriter.class.getName())));
  }

  /** Something worth a line in the trace. */
  void note(Object what) {
    scheduler.note(Op.NOTE, name, number, what);
  }

  /** As {@link #enter}, for operations that touch no file. */
  void enter(Op op) {
    enter(op, World.ROOT);
  }

  @Override
  public String toString() {
    return name;
  }
}
