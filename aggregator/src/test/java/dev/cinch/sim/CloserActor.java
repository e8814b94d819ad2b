package dev.cinch.sim;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.close.DataFileSweep;
import dev.cinch.bag.close.HorizonAdvance;
import dev.cinch.bag.close.IdleLog;
import dev.cinch.bag.close.OpinionNeededException;
import dev.cinch.bag.close.TooEarlyException;
import dev.cinch.bag.model.LogName;
import dev.cinch.lease.sim.Rng;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;

/**
 * Advances horizons as cron would; some at round times, when others do too. Some come back after
 * more than an hour, in which nobody else may have closed, and have nobody to ask for the time.
 */
final class CloserActor extends Actor {
  private static final long LONG = 7_200_000_000_000L;

  private final boolean punctual;

  /** Whether it settles idle time at once, too. */
  private final boolean impatient;

  /** Whether it goes on for ever, or is started anew each time. */
  private final boolean remembers;

  /** How long it spares data files whose record is there; below 0: it leaves them to others. */
  private final long sparesNanos;

  private final Map<LogName, IdleLog> idle = new HashMap<>();
  private final Map<LogName, DataFileSweep> sweeps = new HashMap<>();

  /** How long it rests in the end; 0: not at all. */
  private long oversleeps;

  CloserActor(World world, Rng rng, Rng rests, Rng sweeps) {
    super(world, rng);
    this.punctual = rng.oneIn(2);
    this.impatient = rests.oneIn(4);
    this.remembers = rests.oneIn(2);
    this.oversleeps = rests.oneIn(3) ? LONG + rests.nextLong(1_000 * MS) : 0;
    this.sparesNanos = new long[] {-1, 0, 0, 500 * MS, 5_000 * MS}[sweeps.below(5)];
  }

  private IdleLog idle(Log log) {
    return remembers
        ? idle.computeIfAbsent(log.name(), name -> new IdleLog(log.context()))
        : new IdleLog(log.context());
  }

  private DataFileSweep sweep(Log log) {
    return remembers
        ? sweeps.computeIfAbsent(log.name(), n -> new DataFileSweep(log.context(), sparesNanos))
        : new DataFileSweep(log.context(), sparesNanos);
  }

  @Override
  boolean done() {
    return left <= 0 && oversleeps == 0;
  }

  @Override
  public void run(SimProcess me) throws Exception {
    Store store = me.openStore();
    idle.clear(); // of the process before
    sweeps.clear();
    left = Math.min(left, 12);
    while (left > 0) {
      left--;
      boolean calm = world.faults.stopped();
      Log log = anyLog(store);
      try {
        if (sparesNanos >= 0) {
          sweep(log).lately((bucket, e) -> tolerate(me, calm, e));
        }
        HorizonAdvance horizon = log.horizon();
        long to = horizon.reachable();
        if (impatient || idle(log).isDue(to)) {
          horizon.advance(to, OptionalLong.empty());
        }
      } catch (TooEarlyException e) {
        me.note("too early");
      } catch (IOException e) {
        tolerate(me, calm, e);
      }
      if (punctual) {
        long width = world.plan.widthMs() * 1_000_000;
        me.sleepNanos(width - Math.floorMod(world.scheduler.now(), width) + 1);
      } else {
        wait(me);
      }
    }
    if (oversleeps > 0) {
      me.sleepNanos(oversleeps);
      oversleeps = 0;
      world.machines.forEach(SimMachine::setClock); // or none would be within its bounds
      for (int i = 0; i < world.logs(); i++) {
        settleUnasked(me, log(store, i));
      }
    }
  }

  /** All that was written, and hardly more (section 5); and it finds that by itself (H9). */
  private void settleUnasked(SimProcess me, Log log) throws IOException, InterruptedException {
    HorizonAdvance horizon = log.horizon();
    long to = horizon.reachable();
    if (!idle(log).isDue(to)) {
      return; // another one was here before, within half an hour
    }
    try {
      horizon.advance(to, OptionalLong.empty());
    } catch (OpinionNeededException e) {
      long settled = horizon.chain().freshTip().map(t -> t.record().to()).orElse(Long.MIN_VALUE);
      if (e.vouched().isPresent() && settled < e.vouched().getAsLong()) {
        world.history.violation("not settled: the newest bucket of " + log.name());
      }
      if (settled > to - LONG / 4 * 3 && !world.plan.removing()) {
        world.history.violation("settled further than anybody vouched for: " + log.name());
      }
      me.note("an opinion is needed");
    }
  }
}
