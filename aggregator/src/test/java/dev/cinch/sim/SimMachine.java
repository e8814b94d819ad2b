package dev.cinch.sim;

import dev.cinch.bag.model.MachineName;
import dev.cinch.sim.fs.ClientCache;

/** A machine: a name, a user, a kernel's caches and two clocks of its own. */
final class SimMachine {
  /** What all clocks show about when a run begins, nanoseconds since the Unix epoch. */
  static final long EPOCH = 1_800_000_000_000_000_000L;

  final MachineName name;
  final int user;
  final ClientCache cache = new ClientCache();
  private final Scheduler scheduler;
  private final int wallDriftPpm;
  private final int monotonicDriftPpm;
  private final long monotonicOrigin;
  private long offset;

  /** Grows with every crash of the whole machine. */
  int boots;

  /**
   * @param offset of the wall clock, nanoseconds
   * @param wallDriftPpm how much too fast the wall clock runs
   * @param monotonicDriftPpm likewise
   */
  SimMachine(
      String name,
      int user,
      Scheduler scheduler,
      long offset,
      int wallDriftPpm,
      int monotonicDriftPpm,
      long monotonicOrigin) {
    this.name = new MachineName(name);
    this.user = user;
    this.scheduler = scheduler;
    this.offset = offset;
    this.wallDriftPpm = wallDriftPpm;
    this.monotonicDriftPpm = monotonicDriftPpm;
    this.monotonicOrigin = monotonicOrigin;
  }

  long wall() {
    long now = scheduler.now();
    return EPOCH + now + offset + now / 1_000_000 * wallDriftPpm;
  }

  long monotonic() {
    long now = scheduler.now();
    return monotonicOrigin + now + now / 1_000_000 * monotonicDriftPpm;
  }

  void step(long nanos) {
    offset += nanos;
  }

  /** NTP at last. */
  void setClock() {
    offset = -(scheduler.now() / 1_000_000 * wallDriftPpm);
  }

  @Override
  public String toString() {
    return name.value();
  }
}
