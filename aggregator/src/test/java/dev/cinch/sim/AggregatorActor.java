package dev.cinch.sim;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.lease.sim.Rng;
import dev.cinch.view.Aggregator;
import dev.cinch.view.Retention;
import dev.cinch.view.RetireBlockedException;
import dev.cinch.view.SegmentsDifferException;
import java.io.IOException;
import java.time.Duration;

/** Builds segments, and retires what they cover after a short while. */
final class AggregatorActor extends Actor {
  /** Whether it retires what it has built at once. */
  private final boolean eager;

  AggregatorActor(World world, Rng rng) {
    super(world, rng);
    this.eager = rng.oneIn(2);
  }

  @Override
  public void run(SimProcess me) throws Exception {
    Store store = me.openStore();
    left = Math.min(left, 8);
    while (left > 0) {
      left--;
      boolean calm = world.faults.stopped();
      Log log = anyLog(store);
      try {
        if (eager || rng.below(3) > 0) {
          Aggregator.Result built =
              new Aggregator(log, new Aggregator.Limits(rng.between(1, 4), 100_000)).run();
          me.note("built " + built.published());
        }
        if (eager || rng.oneIn(3)) {
          retire(log);
        }
      } catch (SegmentsDifferException e) {
        world.history.violation("segments differ: " + e.getMessage());
      } catch (IOException e) {
        tolerate(me, calm, e);
      }
      wait(me);
    }
  }

  /** Whatever any user made and closed (rule C5). */
  private void retire(Log log) throws IOException {
    try {
      new Retention(log, Duration.ofMillis(rng.below(1_000))).run();
    } catch (RetireBlockedException e) {
      throw e.kept().get(0).why();
    }
  }
}
