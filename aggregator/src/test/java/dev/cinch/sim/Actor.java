package dev.cinch.sim;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.read.ExpiredException;
import dev.cinch.lease.sim.Rng;
import java.io.IOException;
import java.nio.file.AccessDeniedException;

/** Somebody's work, which goes on in a new process after a crash. */
abstract class Actor implements SimProcess.Body {
  static final long MS = 1_000_000;

  final World world;
  final Rng rng;
  private final boolean dense;
  int left;

  Actor(World world, Rng rng) {
    this.world = world;
    this.rng = rng;
    this.dense = rng.oneIn(2);
    this.left = world.plan.operations();
  }

  boolean done() {
    return left <= 0;
  }

  Log anyLog(Store store) throws IOException, InterruptedException {
    return log(store, rng.below(world.logs()));
  }

  /** Opens a log, or makes it, as often as it takes. */
  Log log(Store store, int index) throws IOException, InterruptedException {
    while (true) {
      boolean calm = world.faults.stopped();
      try {
        return index < world.plan.firstLogs()
            ? store.log(Workbench.log(index))
            : store.createLog(Workbench.log(index));
      } catch (IOException e) {
        if (surprises(calm, e)) {
          throw e;
        }
        store.context().time().sleepNanos(50 * MS);
      }
    }
  }

  /** A while: from nothing to some bucket widths, or for some actors always short. */
  void rest(SimProcess me) throws InterruptedException {
    if (rng.oneIn(2)) {
      long width = world.plan.widthMs() * MS;
      me.sleepNanos(rng.spread(MS, dense ? width / 4 : 4 * width));
    }
  }

  /** The pause of who does something now and then. */
  void wait(SimProcess me) throws InterruptedException {
    me.sleepNanos(rng.spread(10 * MS, 2 * (world.plan.widthMs() + world.plan.graceMs()) * MS));
  }

  /**
   * @param calm whether faults had stopped when the work that failed began
   */
  void tolerate(SimProcess me, boolean calm, IOException e) throws IOException {
    me.note(e.getClass().getSimpleName());
    if (surprises(calm, e)) {
      throw e;
    }
  }

  /**
   * No error does while there are faults; nor that messages expired under a read (rule R4), or that
   * one user meets a directory that another has made and not yet opened to the group, where their
   * umask wants two steps for that.
   */
  private boolean surprises(boolean calm, IOException e) {
    return calm
        && !(e instanceof ExpiredException)
        && !(e instanceof AccessDeniedException && world.plan.opensLate());
  }
}
