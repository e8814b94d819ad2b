package dev.cinch.sim;

import dev.cinch.lease.time.TimeSource;

/** A right clock, and no company: sleeping just lets time pass. */
record JudgesTime(Scheduler scheduler, SimMachine machine) implements TimeSource {
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
    scheduler.sleepUntil(scheduler.now() + Math.max(0, nanos));
  }
}
