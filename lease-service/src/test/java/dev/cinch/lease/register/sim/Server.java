package dev.cinch.lease.register.sim;

import dev.cinch.lease.InCaller;
import dev.cinch.lease.cell.Algorithm;
import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.net.CommonClock;
import dev.cinch.lease.cell.net.DrivenNode;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.register.DrivenCell;
import dev.cinch.lease.register.RegisterBackend;
import dev.cinch.lease.register.StateRegister;
import dev.cinch.lease.sim.Broken;
import dev.cinch.lease.sim.CellWorld;
import dev.cinch.lease.sim.SimClock;
import dev.cinch.lease.table.TableLimits;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** A machine with a node of the cell and a server of leases, which crash together. */
final class Server implements CellWorld.Machine, TimeSource {
  final World world;
  final int id;
  private int boot;
  private SimClock monotonic;
  private long off;

  /** The whole process is paused until then. */
  private long busyUntil;

  @Nullable Life life;

  Server(World world, int id) {
    this.world = world;
    this.id = id;
    this.monotonic = new SimClock(0, 0, 1);
    disturb();
  }

  @Override
  public void disturb() {
    monotonic.turn(world.time, rate());
    off = world.anyOffset();
    if (life != null) {
      life.wake(world.time);
    }
  }

  private double rate() {
    return SimClock.rate(world.rng, world.plan.rateErrorPpm());
  }

  @Override
  public long wallNanos() {
    return SimClock.EPOCH + world.time + off;
  }

  @Override
  public long monotonicNanos() {
    return monotonic.read(world.time);
  }

  @Override
  public void sleepNanos(long nanos) {
    throw new UnsupportedOperationException();
  }

  @Override
  public boolean isUp() {
    return life != null;
  }

  @Override
  public void start() {
    boot++;
    busyUntil = world.time;
    world.trace("server %d starts, %d", id, boot);
    life = new Life();
  }

  @Override
  public void crash() {
    Life gone = life;
    if (gone != null) {
      world.trace("server %d crashes", id);
      life = null;
      gone.end();
    }
  }

  void receive(byte[] datagram) {
    Life l = life;
    if (l != null) {
      l.receive(datagram);
    }
  }

  /** Has a request carried out; nothing if the server is down. */
  void carryOut(Runnable request) {
    Life l = life;
    if (l != null) {
      l.begin(request);
    }
  }

  ServiceInstance service() {
    Life l = life;
    if (l == null) {
      throw new IllegalStateException("down");
    }
    return l.service;
  }

  /** Between a start and a crash. */
  final class Life implements DrivenNode.Surroundings {
    private final DrivenNode driven;
    final ServiceInstance service;
    private final Set<Fibers.Fiber> fibers = new LinkedHashSet<>();
    private final List<byte[]> held = new ArrayList<>();
    private final List<Runnable> leaving = new ArrayList<>();
    private long turnAt = Long.MAX_VALUE;

    /** A paused turn reads the clock as it was when it began. */
    private long staleAt;

    private int stale;
    private boolean isPaused;
    private @Nullable Broken broken;

    Life() {
      Plan plan = world.plan;
      Algorithm algorithm = plan.algorithm();
      monotonic = SimClock.anywhere(world.time, world.rng, rate());
      LongSupplier clock = CommonClock.of(algorithm, new NodeTime());
      driven =
          new DrivenNode(
              id,
              boot,
              plan.first() && boot == 1,
              world.ids,
              algorithm,
              plan.settings(),
              clock,
              Server.this::wallNanos,
              world.rng,
              this);
      StateRegister register =
          DrivenCell.register(
              driven.node, world.rng, nanos -> task -> later(world.time + nanos, task));
      long apartMs = plan.apart() / Plan.MS;
      try {
        service =
            ServiceInstance.builder(new Unsigned(), Server.this)
                .registry(world.registry)
                .storeThread(new InCaller())
                .limits(TableLimits.DEFAULT)
                .longestLeaseMs(plan.longestMs())
                .ceilingAheadMs(1_000)
                .backend(
                    RegisterBackend.on(
                        new WaitingRegister(world, this, register),
                        SimClock.EPOCH - plan.apart(),
                        plan.longestMs(),
                        apartMs))
                .start();
      } catch (IOException e) {
        throw new AssertionError(e);
      }
      wake(world.time);
      maintain();
    }

    private void maintain() {
      world.in(
          500 * Plan.MS,
          () -> {
            if (life == this) {
              service.maintain();
              maintain();
            }
          });
    }

    /** The node's clocks, which a paused turn has read before it was paused. */
    private final class NodeTime implements TimeSource {
      private long time() {
        if (stale > 0) {
          stale--;
          return staleAt;
        }
        return world.time;
      }

      @Override
      public long wallNanos() {
        return SimClock.EPOCH + time() + off;
      }

      @Override
      public long monotonicNanos() {
        return monotonic.read(time());
      }

      @Override
      public void sleepNanos(long nanos) {
        throw new UnsupportedOperationException();
      }
    }

    /** Does something then, or when the process goes on. */
    void later(long at, Runnable what) {
      world.at(
          at,
          () -> {
            if (life != this) {
              return;
            }
            if (busyUntil > world.time) {
              later(busyUntil, what);
            } else {
              what.run();
            }
          });
    }

    void receive(byte[] datagram) {
      if (isPaused) {
        held.add(datagram);
      } else {
        driven.come(datagram);
        wake(world.time);
      }
    }

    @Override
    public void wake() {
      wake(world.time);
    }

    private void wake(long at) {
      if (at < turnAt) {
        turnAt = at;
        later(
            at,
            () -> {
              if (turnAt <= world.time && !isPaused) {
                turn();
              }
            });
      }
    }

    private void turn() {
      long pause = world.pause();
      if (pause > 0 && world.rng.chance(0.5)) {
        staleAt = world.time;
        isPaused = true;
        busyUntil = world.time + pause;
        int reads = 1 + world.rng.below(3);
        later(
            busyUntil,
            () -> {
              stale = reads;
              turn(0);
              held.forEach(driven::come);
              held.clear();
              isPaused = false;
              wake(world.time);
            });
      } else {
        turn(pause);
      }
    }

    /** What it sends leaves after a pause. */
    private void turn(long pause) {
      turnAt = Long.MAX_VALUE;
      long next;
      try {
        next = driven.turn();
      } catch (IOException e) {
        throw new AssertionError(e);
      }
      stale = 0;
      if (broken != null) {
        throw broken;
      }
      if (driven.faults() > 0) {
        throw new Broken("a handler of node " + id + " failed");
      }
      List<Runnable> all = List.copyOf(leaving);
      leaving.clear();
      if (pause > 0) {
        busyUntil = world.time + pause;
        later(busyUntil, () -> all.forEach(Runnable::run));
      } else {
        all.forEach(Runnable::run);
      }
      if (next < Long.MAX_VALUE) {
        long local = monotonic.read(world.time) + next;
        wake(
            Math.max(
                world.time + 1, world.plan.flease() ? world.time + next : monotonic.when(local)));
      }
    }

    @Override
    public void send(int to, byte[] datagram) {
      leaving.add(() -> world.send(to, datagram));
    }

    @Override
    public void accepted(Bytes name, Ballot ballot, Bytes value) {
      try {
        world.judge.accepted(id, name, ballot, value);
      } catch (Broken e) {
        broken = e; // not for the node, which would go on
      }
    }

    /** A fiber works for this life, and ends with it. */
    void own(Fibers.Fiber fiber) {
      fiber.own(this);
      fibers.add(fiber);
    }

    void begin(Runnable request) {
      later(
          world.time,
          () -> {
            Fibers.Fiber unused = world.fibers.start(request);
          });
    }

    void end() {
      List.copyOf(fibers).forEach(f -> f.end(this));
    }

    boolean isIdle() {
      return fibers.stream().noneMatch(f -> f.isOf(this));
    }
  }

  /** Whether requests are under way. */
  boolean isIdle() {
    return Optional.ofNullable(life).map(Life::isIdle).orElse(true);
  }
}
