package dev.cinch.sim;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.lease.sim.Rng;
import dev.cinch.view.Aggregator;
import dev.cinch.view.Expiry;
import dev.cinch.view.Retention;
import dev.cinch.view.RetireBlockedException;
import dev.cinch.view.SegmentsDifferException;
import java.io.IOException;
import java.time.Duration;

/** Deletes old messages, and builds the segments and checkpoints that this takes. */
final class ExpirerActor extends Actor {
  private final long keepMs;

  ExpirerActor(World world, Rng rng) {
    super(world, rng);
    this.keepMs = rng.oneIn(3) ? 0 : rng.spread(1, 20_000);
  }

  @Override
  public void run(SimProcess me) throws Exception {
    Store store = me.openStore();
    left = Math.min(left, 10);
    while (left > 0) {
      left--;
      boolean calm = world.faults.stopped();
      int index = rng.below(world.logs());
      Log log = log(store, index);
      try {
        if (rng.below(4) > 0) {
          var limits = new Aggregator.Limits(rng.between(1, 2), 100_000);
          me.note("built " + new Aggregator(log, limits).run().published());
        }
        if (rng.below(4) > 0) {
          retire(log);
        }
        Expiry.Plan gone = new Expiry(log, Duration.ofMillis(keepMs)).run(path -> {});
        world.history.expired += (int) gone.segments();
        world.history.floor(index, gone.before());
        me.note("expired " + gone);
      } catch (SegmentsDifferException e) {
        world.history.violation("segments differ: " + e.getMessage());
      } catch (IOException e) {
        tolerate(me, calm, e);
      }
      wait(me);
    }
  }

  /** Whatever any user made and closed (rule C5). */
  private static void retire(Log log) throws IOException {
    try {
      new Retention(log, Duration.ZERO).run();
    } catch (RetireBlockedException e) {
      throw e.kept().get(0).why();
    }
  }
}
