package dev.cinch.sim;

import dev.cinch.lease.LeaseName;
import dev.cinch.lease.Shard;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.sim.Rng;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.sim.fs.Ambush;
import dev.cinch.sim.fs.FaultKind;
import dev.cinch.sim.fs.Gate;
import dev.cinch.sim.fs.Op;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * One instance of the lease service, until it is killed: where its file operations pass, and its
 * clocks, which are the machine's, and in worlds of several instances off by something of its own.
 */
final class LeaseInstance implements Gate, TimeSource {
  private static final int HUNDRED_PER_CENT = 1_000_000;

  private final World world;
  private final SimMachine machine;
  private final @Nullable Rng pauses;
  private final long born;
  private long offset;
  private long driftPpm;
  private Shard shard = Shard.WHOLE;
  private @Nullable ServiceInstance service;
  private boolean gone;

  /** The instance is gone, in the middle of whatever it did. */
  static final class Gone extends Error {
    private static final long serialVersionUID = 1;

    Gone() {
      super("service", null, false, false);
    }
  }

  /**
   * @param own draws its clock, and pauses in the middle of requests; null if it has neither
   */
  LeaseInstance(World world, SimMachine machine, @Nullable Rng own) {
    this.world = world;
    this.machine = machine;
    this.pauses = own;
    this.born = world.scheduler.now();
    if (own != null) {
      long bound = Plan.BOUND_MS * 300_000L; // and the machine's
      offset = own.nextLong(-bound, bound);
      int drift = own.oneIn(12) ? 50_000 : own.oneIn(4) ? 2_000 : 200;
      driftPpm = own.between(-drift, drift);
    }
  }

  void started(ServiceInstance itself, Shard of) {
    service = itself;
    shard = of;
  }

  /** Whether a name is its own, by the map under which it was started. */
  boolean has(LeaseName name) {
    return shard.has(name);
  }

  /** The number of the map under which it was started. */
  long map() {
    return shard.map().number();
  }

  ServiceInstance service() {
    ServiceInstance s = service;
    if (s == null) {
      throw new IllegalStateException("not started");
    }
    return s;
  }

  /** What it is about to do in the store has no effect any more. */
  void kill() {
    gone = true;
  }

  boolean isGone() {
    return gone;
  }

  /** Whether somebody can still be granted something here. */
  boolean serves() {
    return !gone && service().supersededBy().isEmpty();
  }

  void step(long nanos) {
    offset += nanos;
  }

  /** Its clock is right, and stays so. */
  void setClock() {
    offset = 0;
    driftPpm = 0;
  }

  private void checkAlive() {
    if (gone) {
      throw new Gone();
    }
  }

  @Override
  public void enter(Op op, Path path) {
    checkAlive();
    world.scheduler.note(op, "service", 0, path);
    if (world.faults.strike(FaultKind.SERVICE_CRASH)) {
      throw new Gone();
    }
    Ambush met = world.faults.ambushed(op, path, "service");
    if (met != null && met.what() == FaultKind.PAUSE) {
      world.scheduler.note(Op.NOTE, "service", 0, "paused");
      world.scheduler.standStill(
          world.faults.rng().nextLong(1_000_000, met.longestNanos()), met.until());
    } else if (met != null && world.faults.has(FaultKind.SERVICE_CRASH)) {
      throw new Gone();
    }
    pause(op, path);
    world.scheduler.step(world.plan.latencyNanos());
    checkAlive();
  }

  /** Meanwhile others run, also requests to this instance, and to later ones. */
  private void pause(Op op, Path path) {
    Rng rng = pauses;
    if (rng == null || world.faults.stopped()) {
      return;
    }
    boolean ends = path.toString().contains("/ends") && op != Op.LIST;
    if (rng.oneIn(ends ? 6 : 100)) {
      world.scheduler.note(Op.NOTE, "service", 0, "paused");
      world.scheduler.standStill(rng.spread(1_000_000, 3_000_000_000L), null);
    }
  }

  @Override
  public void leave(Op op, Path path) {
    world.scheduler.passed(op, path);
    if (pauses != null && op == Op.LINK && path.toString().contains("/ends") && pauses.oneIn(3)) {
      world.rebootSoon();
    }
    checkAlive();
  }

  @Override
  public void failed(Op op, Path path, Exception why) {
    world.scheduler.note(Op.ERROR, "service", 0, why.getClass().getSimpleName());
  }

  @Override
  public void opened(Killable file) {}

  @Override
  public void closed(Killable file) {}

  @Override
  public long now() {
    return world.scheduler.now();
  }

  private long drifted() {
    return (world.scheduler.now() - born) / HUNDRED_PER_CENT * driftPpm;
  }

  @Override
  public long wallNanos() {
    return machine.wall() + offset + drifted();
  }

  @Override
  public long monotonicNanos() {
    return machine.monotonic() + drifted();
  }

  @Override
  public void sleepNanos(long nanos) {
    world.scheduler.sleepUntil(world.scheduler.now() + Math.max(0, nanos));
  }
}
