package dev.cinch.sim;

import dev.cinch.bag.Store;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.registry.StoreShards;
import dev.cinch.lease.InCaller;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Shard;
import dev.cinch.lease.ShardMap;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.register.RegisterBackend;
import dev.cinch.lease.sim.Events;
import dev.cinch.lease.sim.Rng;
import dev.cinch.lease.table.TableLimits;
import dev.cinch.lease.witness.WitnessSigner;
import dev.cinch.sim.LeaseInstance.Gone;
import dev.cinch.sim.fs.FaultKind;
import dev.cinch.sim.fs.Op;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * The machine of the lease service: starts instances, kills and forgets them, and carries out one
 * request at a time on the thread of whoever calls.
 */
final class LeaseHost implements SimProcess.Body {
  private static final long MAINTAIN_NANOS = 4_000_000_000L;

  /** Longer than anybody rests beside others that are at work. */
  private static final long LULL_NANOS = 60_000_000_000L;

  private static final long RETRY_NANOS = 200_000_000L;
  private static final TableLimits LIMITS =
      new TableLimits(6, 1L << 21, 2_000_000_000L, 1_000_000_000L, 3_600_000_000_000L, 2);

  /** Two names, so that others are forgotten. */
  private static final TableLimits TIGHT =
      new TableLimits(2, 1L << 21, 500_000_000L, 1_000_000_000L, 3_600_000_000_000L, 2);

  private static final long LONGEST_MS = 12_000;

  /** What a clock that drifts is off by at most, after twice that. */
  private static final long APART_MS = 2_000;

  private static final int MOST_INSTANCES = 3;

  /** Of those that share the names, so that some of earlier maps go on. */
  private static final int MOST_SHARDED = 7;

  private final World world;
  private final SimMachine machine;
  private final WitnessSigner signer;
  private final boolean register;
  private final Rng random;
  private final Events tasks = new Events();
  private final @Nullable Rng rivalry;
  private @Nullable LeaseInstance service;
  private @Nullable LeaseInstance zombie;

  /** Of several, those that were started and not killed, in the order of their numbers. */
  private final List<LeaseInstance> several = new ArrayList<>();

  /** Those that were begun and not killed, of which some have no number yet. */
  private final List<LeaseInstance> begun = new ArrayList<>();

  private @Nullable SimProcess daemon;
  private boolean busy;
  private int instances;
  private int lastWords;
  private long restingNanos;

  /** Draws which restarts are planned; null where all are crashes. */
  private final @Nullable Rng planned;

  /** How long an instance that is to end looks whether requests are over, nanoseconds. */
  private static final long ENDING_NANOS = 2_000_000_000L;

  /** A request to an instance. */
  interface Request<T> {
    T send(ServiceInstance service) throws LeaseRefusedException, LeaseUnavailableException;
  }

  /**
   * @param register whether an instance keeps its leases in a register of its own
   */
  LeaseHost(World world, SimMachine machine, WitnessSigner signer, boolean register) {
    this.world = world;
    this.machine = machine;
    this.signer = signer;
    this.register = register;
    this.random = Rng.of(world.plan.seed(), 3);
    this.rivalry = world.plan.several() ? Rng.of(world.plan.seed(), 15) : null;
    Rng ends = Rng.of(world.plan.seed(), 31);
    this.planned = !register && world.plan.restartNanos() > 0 && ends.below(3) > 0 ? ends : null;
  }

  /** Starts the first instance, and what runs in the background. */
  void start() {
    SimProcess process = new SimProcess(world, machine, "service", this);
    daemon = process;
    process.wakeAt = 0;
    if (rivalry == null) {
      in(0, this::boot);
    } else {
      startAnother(0);
    }
    in(MAINTAIN_NANOS, this::maintain);
    if (world.plan.restartNanos() > 0) {
      in(world.plan.restartNanos(), this::restart);
    }
    world.scheduler.addDaemon(process);
  }

  /** Does something later, on the service's own thread. */
  void in(long nanos, Runnable what) {
    long at = world.scheduler.now() + nanos;
    tasks.at(at, what);
    SimProcess process = daemon;
    if (process != null) {
      process.wakeAt = Math.min(process.wakeAt, at);
    }
  }

  @Override
  public void run(SimProcess me) {
    while (true) {
      if (tasks.next() > world.scheduler.now()) {
        world.scheduler.sleepUntil(tasks.next());
      } else if (busy) {
        world.scheduler.sleepUntil(world.scheduler.now() + 20_000_000);
      } else {
        tasks.take().run();
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

  /** Where there are several, they start and are paused on threads of their own. */
  private void startAnother(long after) {
    int any = world.plan.sharded() ? world.faults.rng().below(3) : 0;
    startAnother(after, any);
  }

  /**
   * @param shard one more than the rest that this leaves divided by the map's count
   */
  private void startAnother(long after, int shard) {
    var process = new SimProcess(world, machine, "instance", me -> bootAnother(me, shard));
    process.wakeAt = world.scheduler.now() + after;
    world.scheduler.add(process);
  }

  private void bootAnother(SimProcess me, int shard) {
    while (true) {
      try {
        several.add(instance(shard));
        several.sort(Comparator.comparingLong(i -> i.service().number()));
        return;
      } catch (IOException | Gone e) {
        me.note("did not start");
        world.scheduler.sleepUntil(world.scheduler.now() + RETRY_NANOS);
      }
    }
  }

  private LeaseInstance instance() throws IOException {
    return instance(0);
  }

  private LeaseInstance instance(int shard) throws IOException {
    var instance = new LeaseInstance(world, machine, world.faults.stopped() ? null : rivalry);
    begun.add(instance);
    boolean started = false;
    try {
      start(instance, shard);
      started = true;
      return instance;
    } finally {
      if (!started) {
        begun.remove(instance);
      }
    }
  }

  private Store open(LeaseInstance instance) throws IOException {
    return new SimStore(world, machine, instance, instance, random).open();
  }

  private void start(LeaseInstance instance, int index) throws IOException {
    Store store = open(instance);
    ShardMap map = world.plan.sharded() ? StoreShards.look(store.context()).map() : ShardMap.NONE;
    var shard = new Shard(map, 1 + index % map.count());
    ServiceInstance.Builder service =
        ServiceInstance.builder(signer, instance)
            .registry(new StoreInstances(store.context(), Optional.empty(), shard, Workbench.KEY))
            .storeThread(new InCaller())
            .longestLeaseMs(LONGEST_MS)
            .ceilingAheadMs(world.plan.ceilingAheadMs())
            .limits(rivalry != null && world.plan.seed() % 2 == 0 ? TIGHT : LIMITS);
    if (register) {
      service.backend(
          RegisterBackend.on(
              new SimRegister(world, LONGEST_MS), instance.wallNanos(), LONGEST_MS, APART_MS));
    }
    instance.started(service.start(), shard);
    instances++;
  }

  private void maintain() {
    if (rivalry != null) {
      long next = nextMaintenance(MAINTAIN_NANOS / 2);
      maintainSeveral(rivalry);
      in(next, this::maintain);
      return;
    }
    if (world.faults.strike(FaultKind.SERVICE_CLOCK_STEP)) {
      machine.step(world.faults.rng().nextLong(-20_000_000_000L, 20_000_000_000L));
    }
    LeaseInstance s = service;
    if (s != null) {
      busy = true;
      try {
        s.service().maintain();
      } catch (Gone e) {
        if (s == service) {
          lose();
        }
      } finally {
        busy = false;
      }
    }
    in(nextMaintenance(MAINTAIN_NANOS), this::maintain);
  }

  /**
   * In how many nanoseconds it is looked after again. Where everybody else rests for long, as
   * closers do for two hours, that is done ever more seldom: once leases are over, each time finds
   * what the one before left.
   */
  private long nextMaintenance(long usual) {
    long lull = world.scheduler.lull();
    restingNanos = lull > LULL_NANOS ? Math.min(2 * Math.max(restingNanos, usual), lull) : 0;
    return Math.max(restingNanos, usual);
  }

  /** Earlier ones that hang together with their threads are not looked after. */
  private void maintainSeveral(Rng rng) {
    for (LeaseInstance i : List.copyOf(several)) {
      if (rng.oneIn(25) && world.faults.strike(FaultKind.SERVICE_CLOCK_STEP)) {
        i.step(rng.spread(10_000_000, 20_000_000_000L) * (rng.oneIn(2) ? 1 : -1));
      }
      if (i == several.get(several.size() - 1)
          || world.plan.sharded() && rng.oneIn(2)
          || rng.oneIn(20)) {
        aside(0, () -> i, LeaseHost::maintained);
      }
    }
  }

  private interface Address {
    LeaseInstance get() throws LeaseUnavailableException;
  }

  /** A request on a thread of its own, whose answer nobody hears. */
  private void aside(long after, Address to, Request<?> request) {
    var process =
        new SimProcess(
            world,
            machine,
            "request",
            me -> {
              try {
                Object unused = sendTo(to.get(), request);
              } catch (LeaseRefusedException | LeaseUnavailableException e) {
                me.note("refused");
              }
            });
    process.wakeAt = world.scheduler.now() + after;
    world.scheduler.add(process);
  }

  /** A request that arrives when its sender has given it up, at whoever listens then. */
  void late(long after, Request<?> request) {
    aside(after, () -> address(null, world.faults.rng()), request);
  }

  private static boolean maintained(ServiceInstance s) {
    s.maintain();
    return true;
  }

  private boolean isPlanned() {
    return planned != null && planned.oneIn(2);
  }

  /**
   * Ends an instance as SIGTERM does (rule L19): when nothing is under way it signs nothing more,
   * and leaves last words. Whatever is asked of it later is refused.
   */
  private void endWell(LeaseInstance i, long patience) {
    long until = world.scheduler.now() + patience;
    while (!i.service().end()) {
      if (world.scheduler.now() >= until) {
        return; // it goes without, and whatever is under way may still be done
      }
      world.scheduler.sleepUntil(world.scheduler.now() + ENDING_NANOS / 20);
    }
    try {
      lastWords += i.service().leaveLastWords().join() ? 1 : 0;
      world.scheduler.note(Op.NOTE, "service", 0, "last words");
    } catch (CompletionException e) {
      if (e.getCause() instanceof Gone gone) {
        throw gone;
      }
      world.scheduler.note(Op.NOTE, "service", 0, "no last words, or some");
    }
  }

  /** The same of one of several, on a thread of its own; then another one starts. */
  private void replaceWell(LeaseInstance i, Rng rng) {
    var process =
        new SimProcess(
            world,
            machine,
            "ending",
            me -> {
              try {
                endWell(i, ENDING_NANOS);
              } catch (Gone e) {
                me.note("killed before it had ended");
              }
              startAnother(rng.oneIn(3) ? 0 : rng.spread(1_000_000, 3_000_000_000L));
            });
    process.wakeAt = world.scheduler.now();
    world.scheduler.add(process);
  }

  /** Another one is started, and the one before is killed, or was only slow. */
  private void restartSeveral(Rng rng) {
    if (isPlanned() && !several.isEmpty()) {
      replaceWell(several.get(several.size() - 1), rng);
      return;
    }
    if (rng.oneIn(4) && !several.isEmpty()) {
      kill(several.get(several.size() - 1));
    }
    while (begun.size() >= (world.plan.sharded() ? MOST_SHARDED : MOST_INSTANCES)) {
      kill(begun.get(0));
    }
    if (world.plan.sharded() && rng.oneIn(2)) {
      reshard(rng.between(1, 3));
      return;
    }
    startAnother(rng.spread(1_000_000, 3_000_000_000L));
  }

  /** Somebody publishes the next map, and starts a server for each shard of the last one. */
  private void reshard(int count) {
    var process =
        new SimProcess(
            world,
            machine,
            "shards",
            me -> {
              try {
                Store store = open(new LeaseInstance(world, machine, null));
                me.note(StoreShards.publish(store.context(), count, Workbench.KEY).inWords());
              } catch (IOException | Gone e) {
                me.note("published no map, or one");
              }
              for (int shard = 0; shard < count; shard++) {
                startAnother(world.faults.rng().spread(1_000_000, 2_000_000_000L), shard);
              }
            });
    process.wakeAt = world.scheduler.now();
    world.scheduler.add(process);
  }

  private void kill(LeaseInstance i) {
    i.kill();
    several.remove(i);
    begun.remove(i);
  }

  /** Whatever it was asked for; a request under way is waited for. */
  private void restart() {
    Rng rng = rivalry;
    if (rng != null) {
      if (!world.faults.stopped()) {
        restartSeveral(rng);
        long most = 2 * world.plan.restartNanos();
        in(
            rng.oneIn(4) ? rng.spread(most / 100, most) : rng.nextLong(most / 4, most),
            this::restart);
      }
      return;
    }
    if (world.scheduler.now() < world.plan.faultsEndNanos()) {
      LeaseInstance s = service;
      if (s != null && isPlanned()) {
        replaceWell(s);
      } else if (s != null) {
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

  /** Meanwhile requests wait. It may be found by some afterwards, as one that was thought dead. */
  private void replaceWell(LeaseInstance s) {
    busy = true;
    try {
      endWell(s, 0);
    } catch (Gone e) {
      world.scheduler.note(Op.NOTE, "service", 0, "killed before it had ended");
    } finally {
      busy = false;
    }
    if (s == service) {
      lose();
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
    boolean any = !several.isEmpty();
    List.copyOf(begun).forEach(this::kill);
    if (any) {
      startAnother(RETRY_NANOS);
    }
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
    LeaseInstance z = zombie;
    LeaseInstance s = old && z != null ? z : service;
    if (s == null) {
      throw new LeaseUnavailableException("the service is down", null);
    }
    busy = true;
    try {
      if (s == service && world.faults.strike(FaultKind.SERVICE_CRASH)) {
        throw new Gone();
      }
      return request.send(s.service());
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

  /** Whether there are several instances, each of which has an address. */
  boolean hasSeveral() {
    return rivalry != null;
  }

  /** The instance that a process asks next, mostly the one before; the latest if that is over. */
  LeaseInstance address(@Nullable LeaseInstance before, Rng rng) throws LeaseUnavailableException {
    return address(before, several, rng);
  }

  /** Likewise, mostly among those that have a name. */
  LeaseInstance address(@Nullable LeaseInstance before, LeaseName name, Rng rng)
      throws LeaseUnavailableException {
    List<LeaseInstance> those = several.stream().filter(i -> i.has(name)).toList();
    return !world.plan.sharded() || those.isEmpty() || rng.oneIn(10)
        ? address(before, several, rng)
        : address(those.contains(before) ? before : null, those, rng);
  }

  private static LeaseInstance address(
      @Nullable LeaseInstance before, List<LeaseInstance> among, Rng rng)
      throws LeaseUnavailableException {
    if (among.isEmpty()) {
      throw new LeaseUnavailableException("the service is down", null);
    }
    if (before != null && before.serves() && rng.below(4) > 0) {
      return before;
    }
    LeaseInstance any = among.get(rng.below(among.size()));
    return any.serves() ? any : among.get(among.size() - 1);
  }

  /** As {@link #send} where there are several, which carry out requests at once. */
  <T> T sendTo(LeaseInstance s, Request<T> request)
      throws LeaseRefusedException, LeaseUnavailableException {
    try {
      if (s.isGone()) {
        throw new Gone();
      }
      return request.send(s.service());
    } catch (Gone e) {
      boolean alone = several.remove(s) && several.isEmpty();
      kill(s);
      if (alone) {
        startAnother(RETRY_NANOS);
      }
      throw new LeaseUnavailableException("the service went away", null);
    }
  }

  boolean busy() {
    return busy;
  }

  /** Its clock is set right. */
  void calm() {
    machine.setClock();
    begun.forEach(LeaseInstance::setClock);
  }

  int instances() {
    return instances;
  }

  /** How many left last words. */
  int lastWords() {
    return lastWords;
  }
}
