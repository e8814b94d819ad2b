package dev.cinch.sim;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.Finding.Severity;
import dev.cinch.bag.audit.LeaseAuditor;
import dev.cinch.bag.audit.Violation;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.read.LogReader;
import dev.cinch.lease.sim.Rng;
import dev.cinch.sim.fs.FaultKind;
import dev.cinch.sim.fs.SimObjects;
import java.io.IOException;
import java.util.EnumSet;
import java.util.Set;

/** Reads settled and live, and remembers what was settled. */
final class ReaderActor extends Actor {
  /** What verify must take for damage. */
  private static final Set<FaultKind> UNREADABLE =
      EnumSet.of(FaultKind.READ_ERROR, FaultKind.META_ERROR);

  private final boolean follows;

  /** Whether it verifies or audits the store now and then, whatever others do meanwhile. */
  private final boolean checks;

  /** Whether it may hold against the store what it can't read. */
  private final boolean readable;

  ReaderActor(World world, Rng rng) {
    super(world, rng);
    this.follows = world.faults.has(FaultKind.DELEGATIONS) && rng.oneIn(2);
    this.readable =
        UNREADABLE.stream().noneMatch(world.faults::has)
            && world.plan.ambushes().stream().noneMatch(a -> UNREADABLE.contains(a.what()));
    this.checks = readable && rng.oneIn(2);
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
        if (checks && rng.oneIn(4)) {
          check(me, store);
        }
        var scan = new Scan(world.history, index, world.plan);
        if (follows || rng.oneIn(3)) {
          reader.live(Long.MIN_VALUE, Long.MAX_VALUE, scan, scan);
        } else {
          long to = reader.settled(Long.MIN_VALUE, Long.MAX_VALUE, rng.oneIn(2), scan, scan);
          long floor = world.plan.expiring() ? expired(log, index) : Long.MIN_VALUE;
          world.history.views.add(
              new History.View(me.toString(), index, floor, to, scan.ids(), scan.times()));
        }
      } catch (IOException e) {
        if (readable && e instanceof DamagedException) {
          world.history.violation(me + " was told damage: " + e.getMessage());
        }
        tolerate(me, calm, e);
      }
      if (follows) { // what is being written, and so is given delegations for it
        me.sleepNanos(rng.spread(MS, world.plan.widthMs() * MS / 4));
      } else {
        wait(me);
      }
    }
  }

  private long expired(Log log, int index) throws IOException {
    long floor = log.reader().expired();
    world.history.floor(index, floor);
    return floor;
  }

  private void check(SimProcess me, Store store) throws IOException {
    if (rng.oneIn(2)) {
      me.store()
          .verify(
              finding -> {
                // What the object store did not say for so long is not known.
                if (finding.severity() == Severity.DAMAGE
                    && !finding.actual().endsWith(SimObjects.UNANSWERED)) {
                  world.history.violation(me + " verified: " + finding);
                }
              });
    } else {
      for (Violation v : LeaseAuditor.audit(store).violations()) {
        if (!Checks.isUnleased(v)) {
          world.history.violation(me + " audited: " + v);
        }
      }
    }
  }
}
