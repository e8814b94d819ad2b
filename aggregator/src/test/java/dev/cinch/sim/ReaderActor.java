package dev.cinch.sim;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.read.LogReader;
import dev.cinch.sim.fs.Rng;
import java.io.IOException;

/** Reads settled and live, and remembers what was settled. */
final class ReaderActor extends Actor {
  ReaderActor(World world, Rng rng) {
    super(world, rng);
  }

  @Override
  public void run(SimProcess me) throws Exception {
    Store store = me.openStore();
    left = Math.min(left, 6);
    while (left > 0) {
      left--;
      boolean calm = world.faults.stopped();
      int index = rng.below(world.logs());
      Log log = log(store, index);
      LogReader reader = log.reader();
      try {
        var scan = new Scan(world.history, index, world.plan);
        if (rng.oneIn(3)) {
          reader.live(Long.MIN_VALUE, Long.MAX_VALUE, scan, scan::ignored);
        } else {
          long to =
              reader.settled(Long.MIN_VALUE, Long.MAX_VALUE, rng.oneIn(2), scan, scan::ignored);
          world.history.views.add(new History.View(me.toString(), index, to, scan.ids()));
        }
      } catch (IOException e) {
        tolerate(me, calm, e);
      }
      wait(me);
    }
  }
}
