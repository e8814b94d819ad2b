package dev.cinch.sim;

import dev.cinch.bag.model.MachineName;
import dev.cinch.lease.sim.SimClock;
import dev.cinch.sim.fs.ClientCache;

/** A machine: a name, a user, a kernel's caches and two clocks of its own. */
final class SimMachine {
  final MachineName name;
  final int user;
  final ClientCache cache = new ClientCache();
  private final Scheduler scheduler;
  private final SimClock wall;
  private final SimClock monotonic;

  /** Grows with every crash of the whole machine. */
  int boots;

  SimMachine(String name, int user, Scheduler scheduler, SimClock wall, SimClock monotonic) {
    this.name = new MachineName(name);
    this.user = user;
    this.scheduler = scheduler;
    this.wall = wall;
    this.monotonic = monotonic;
  }

  long wall() {
    return wall.read(scheduler.now());
  }

  long monotonic() {
    return monotonic.read(scheduler.now());
  }

  void step(long nanos) {
    wall.step(scheduler.now(), wall() + nanos);
  }

  /** NTP at last. */
  void setClock() {
    wall.step(scheduler.now(), SimClock.EPOCH + scheduler.now());
  }

  @Override
  public String toString() {
    return name.value();
  }
}
