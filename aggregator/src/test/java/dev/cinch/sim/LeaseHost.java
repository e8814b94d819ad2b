package dev.cinch.sim;

import dev.cinch.bag.Store;
import dev.cinch.bag.store.StoreInstances;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.memory.MemoryLeaseService;
import dev.cinch.lease.memory.TableLimits;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.witness.WitnessSigner;
import dev.cinch.sim.fs.Ambush;
import dev.cinch.sim.fs.FaultKind;
import dev.cinch.sim.fs.Gate;
import dev.cinch.sim.fs.Op;
import dev.cinch.sim.fs.Rng;
import java.io.IOException;
import java.nio.file.Path;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/**
 * The machine of the lease service: starts instances, kills and forgets them, and carries out one
 * request at a time on the thread of whoever calls.
 */
final class LeaseHost implements TimeSource, SimProcess.Body {
  private static final long MAINTAIN_NANOS = 4_000_000_000L;
  private static final long RETRY_NANOS = 200_000_000L;
  private static final TableLimits LIMITS =
      new TableLimits(2, 3, 1L << 20, 2_000_000_000L, 1_000_000_000L, 3_600_000_000_000L, 2);

  private final World world;
  private final SimMachine machine;
  private final WitnessSigner signer;
  private final Rng random;
  private final PriorityQueue<Task> tasks = new PriorityQueue<>();
  private @Nullable MemoryLeaseService service;
  private @Nullable MemoryLeaseService zombie;
  private @Nullable SimProcess daemon;
  private boolean busy;
  private long taskNumber;
  private int instances;
  private int powerCuts;

  /** The instance is gone, in the middle of whatever it did. */
  static final class Gone extends Error {
    private static final long serialVersionUID = 1;

    Gone() {
      super("service", null, false, false);
    }
  }

  /** A request to an instance. */
  interface Request<T> {
    T send(MemoryLeaseService service) throws LeaseRefusedException, LeaseUnavailableException;
  }

  private record Task(long at, long number, Runnable what) implements Comparable<Task> {
    @Override
    public int compareTo(Task o) {
      return at != o.at ? Long.compare(at, o.at) : Long.compare(number, o.number);
    }
  }

  LeaseHost(World world, SimMachine machine, WitnessSigner signer) {
    this.world = world;
    this.machine = machine;
    this.signer = signer;
    this.random = Rng.of(world.plan.seed(), 3);
  }

  /** Starts the first instance, and what runs in the background. */
  void start() {
    SimProcess process = new SimProcess(world, machine, "service", this);
    daemon = process;
    process.wakeAt = 0;
    in(0, this::boot);
    in(MAINTAIN_NANOS, this::maintain);
    if (world.plan.restartNanos() > 0) {
      in(world.plan.restartNanos(), this::restart);
    }
    world.scheduler.addDaemon(process);
  }

  /** Does something later, on the service's own thread. */
  void in(long nanos, Runnable what) {
    long at = world.scheduler.now() + nanos;
    tasks.add(new Task(at, taskNumber++, what));
    SimProcess process = daemon;
    if (process != null) {
      process.wakeAt = Math.min(process.wakeAt, at);
    }
  }

  @Override
  public void run(SimProcess me) {
    while (true) {
      Task task = tasks.peek();
      if (task == null) {
        world.scheduler.sleepUntil(Long.MAX_VALUE);
      } else if (task.at > world.scheduler.now()) {
        world.scheduler.sleepUntil(task.at);
      } else if (busy) {
        world.scheduler.sleepUntil(world.scheduler.now() + 20_000_000);
      } else {
        tasks.poll();
        task.what.run();
      }
      me.checkAlive();
    }
  }

  /** Meanwhile requests reach one that was thought dead. */
  private void boot() {
    try {
      service = instance();
    } catch (IOException | Gone e) {
      in(RETRY_NANOS, this::boot);
    }
  }

  private void bootRival(SimProcess me) {
    try {
      zombie = instance();
    } catch (IOException | Gone e) {
      me.note("did not start");
    }
  }

  private MemoryLeaseService instance() throws IOException {
    var fs = SimProcess.fs(world, machine, new InstanceGate());
    var environment = new Store.Environment(fs, machine.name, this, random);
    Store store = Store.open(World.ROOT, environment);
    MemoryLeaseService started =
        MemoryLeaseService.builder(signer, this)
            .registry(new StoreInstances(store.context()))
            .longestLeaseMs(12_000)
            .ceilingAheadMs(world.plan.ceilingAheadMs())
            .limits(LIMITS)
            .start();
    instances++;
    return started;
  }

  private void maintain() {
    if (world.faults.strike(FaultKind.SERVICE_CLOCK_STEP)) {
      machine.step(world.faults.rng().nextLong(-20_000_000_000L, 20_000_000_000L));
    }
    MemoryLeaseService s = service;
    if (s != null) {
      busy = true;
      try {
        s.maintain();
      } catch (Gone e) {
        if (s == service) {
          lose();
        }
      } finally {
        busy = false;
      }
    }
    in(MAINTAIN_NANOS, this::maintain);
  }

  /** Whatever it was asked for; a request under way is waited for. */
  private void restart() {
    if (world.scheduler.now() < world.plan.faultsEndNanos()) {
      if (service != null) {
        lose();
      }
      in(
          world
              .faults
              .rng()
              .nextLong(MAINTAIN_NANOS, 2 * world.plan.restartNanos() + MAINTAIN_NANOS),
          this::restart);
    }
  }

  private void lose() {
    world.scheduler.note(Op.CRASH, "service", 0, null);
    zombie = world.faults.strike(FaultKind.SERVICE_ZOMBIE) ? service : null;
    service = null;
    long away = world.faults.rng().spread(1_000_000, 3_000_000_000L);
    in(away, this::boot);
    if (zombie != null && world.faults.rng().oneIn(2)) {
      startRival(away);
    }
  }

  /**
   * The machine that has the store on a filesystem of its own loses power, and the service runs
   * there: no instance goes on with files that are not there any more.
   */
  void losePower() {
    powerCuts++;
    zombie = null;
    if (service != null) {
      lose();
    }
    zombie = null;
  }

  /** Somebody starts another instance at the same moment. */
  private void startRival(long after) {
    var rival = new SimProcess(world, machine, "rival", this::bootRival);
    rival.wakeAt = world.scheduler.now() + after;
    world.scheduler.add(rival);
  }

  /**
   * Carries out a request on the calling process's thread.
   *
   * @param old whether it reaches an instance that was thought dead, if there is one
   */
  <T> T send(boolean old, Request<T> request)
      throws LeaseRefusedException, LeaseUnavailableException {
    for (long wait = 300_000; busy; wait = Math.min(2 * wait, 100_000_000)) {
      world.scheduler.sleepUntil(world.scheduler.now() + wait);
    }
    MemoryLeaseService z = zombie;
    MemoryLeaseService s = old && z != null ? z : service;
    if (s == null) {
      throw new LeaseUnavailableException("the service is down", null);
    }
    busy = true;
    try {
      if (s == service && world.faults.strike(FaultKind.SERVICE_CRASH)) {
        throw new Gone();
      }
      return request.send(s);
    } catch (Gone e) {
      if (s == service) {
        lose();
      } else {
        zombie = null;
      }
      throw new LeaseUnavailableException("the service went away", null);
    } finally {
      busy = false;
    }
  }

  boolean busy() {
    return busy;
  }

  /** Its clock is set right. */
  void calm() {
    machine.setClock();
  }

  int instances() {
    return instances;
  }

  /** Where the file operations of one instance pass. */
  private final class InstanceGate implements Gate {
    private final int born = powerCuts;

    private void checkPower() {
      if (powerCuts != born) {
        throw new Gone();
      }
    }

    @Override
    public void enter(Op op, Path path) {
      checkPower();
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
      world.scheduler.step(world.plan.latencyNanos());
      checkPower();
    }

    @Override
    public void leave(Op op, Path path) {
      world.scheduler.passed(op, path);
      checkPower();
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
  public void sleepNanos(long nanos) {
    world.scheduler.sleepUntil(world.scheduler.now() + Math.max(0, nanos));
  }
}
