package dev.cinch.sim;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.lease.sim.Rng;
import java.io.IOException;

/**
 * Settles a log to the end of time, as who removes it does (rule H8), while everybody goes on with
 * it. Its tombstone comes with the checks, since nobody opens a log that has one.
 */
final class RemoverActor extends Actor {
  private final long after;

  RemoverActor(World world, Rng rng) {
    super(world, rng);
    this.after = rng.spread(10 * MS, 10_000 * MS);
    this.left = 1;
  }

  @Override
  public void run(SimProcess me) throws Exception {
    Store store = me.openStore();
    me.sleepNanos(after - world.scheduler.now()); // once: after a crash it goes on at once
    int index = world.plan.logs() - 1;
    while (left > 0) {
      boolean calm = world.faults.stopped();
      try {
        Log log = log(store, index);
        long number = log.horizon().end().record().number();
        me.note("ended log " + index + " with record " + number);
        world.history.ended(index, number);
        left--;
      } catch (IOException e) {
        tolerate(me, calm, e);
        wait(me);
      }
    }
  }
}
