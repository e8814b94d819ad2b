package dev.cinch.sim;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.read.LogReader;
import dev.cinch.sim.fs.FaultKind;
import dev.cinch.sim.fs.Rng;
import java.io.IOException;

/** Reads settled and live, and remembers what was settled. */
final class ReaderActor extends Actor {
  private final boolean follows;

  ReaderActor(World world, Rng rng) {
    super(world, rng);
    this.follows = world.faults.has(FaultKind.DELEGATIONS) && rng.oneIn(2);
    this.left = follows ? 2 * left : Math.min(left, 6);
  }

  @Override
  public void run(SimProcess me) throws Exception {
    Store store = me.openStore();
    while (left > 0) {
      left--;
      boolean calm = world.faults.stopped();
      int index = rng.below(world.logs());
      Log log = log(store, index);
      LogReader reader = log.reader();
      try {
        var scan = new Scan(world.history, index, world.plan);
        if (follows || rng.oneIn(3)) {
          reader.live(Long.MIN_VALUE, Long.MAX_VALUE, scan, scan::ignored);
        } else {
          long to =
              reader.settled(Long.MIN_VALUE, Long.MAX_VALUE, rng.oneIn(2), scan, scan::ignored);
          world.history.views.add(new History.View(me.toString(), index, to, scan.ids()));
        }
      } catch (IOException e) {
        tolerate(me, calm, e);
      }
      if (follows) { // what is being written, and so is given delegations for it
        me.sleepNanos(rng.spread(MS, world.plan.widthMs() * MS / 4));
      } else {
        wait(me);
      }
    }
  }
}
