package dev.cinch.sim;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.close.HorizonAdvance;
import dev.cinch.bag.close.TooEarlyException;
import dev.cinch.sim.fs.Rng;
import java.io.IOException;
import java.util.OptionalLong;

/** Advances horizons as cron would; some at round times, when others do too. */
final class CloserActor extends Actor {
  private final boolean punctual;

  CloserActor(World world, Rng rng) {
    super(world, rng);
    this.punctual = rng.oneIn(2);
  }

  @Override
  public void run(SimProcess me) throws Exception {
    Store store = me.openStore();
    left = Math.min(left, 12);
    while (left > 0) {
      left--;
      boolean calm = world.faults.stopped();
      Log log = anyLog(store);
      try {
        HorizonAdvance horizon = log.horizon();
        horizon.advance(horizon.reachable(), OptionalLong.empty());
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
  }
}
