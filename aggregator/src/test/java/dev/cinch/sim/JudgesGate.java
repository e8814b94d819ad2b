package dev.cinch.sim;

import dev.cinch.sim.fs.Gate;
import dev.cinch.sim.fs.Op;
import java.nio.file.Path;

/** Lets everything pass, and lets a little time pass with it. */
record JudgesGate(Scheduler scheduler) implements Gate {
  private static final long LATENCY_NANOS = 20_000;

  @Override
  public void enter(Op op, Path path) {
    scheduler.step(LATENCY_NANOS);
  }

  @Override
  public void leave(Op op, Path path) {}

  @Override
  public void failed(Op op, Path path, Exception why) {}

  @Override
  public void opened(Killable file) {}

  @Override
  public void closed(Killable file) {}

  @Override
  public long now() {
    return scheduler.now();
  }
}
