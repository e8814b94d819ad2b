package dev.cinch.sim;

import dev.cinch.bag.Cuts;
import dev.cinch.bag.Log;
import dev.cinch.bag.LogRemovedException;
import dev.cinch.bag.NoSuchCutException;
import dev.cinch.bag.NothingSettledException;
import dev.cinch.bag.Store;
import dev.cinch.bag.StoreCut;
import dev.cinch.bag.StoreCut.Part;
import dev.cinch.lease.sim.Rng;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Takes cuts, reads each at once, and removes what nobody can read any more (rule H11). */
final class CutterActor extends Actor {
  CutterActor(World world, Rng rng) {
    super(world, rng);
    this.left = Math.min(left, 8);
  }

  @Override
  public void run(SimProcess me) throws Exception {
    Store store = me.openStore();
    var cuts = new Cuts(store);
    while (left > 0) {
      left--;
      boolean calm = world.faults.stopped();
      int first = rng.below(world.logs());
      int last = rng.oneIn(2) ? first : world.logs() - 1;
      var logs = new ArrayList<Log>();
      for (int index = first; index <= last; index++) {
        logs.add(log(store, index));
      }
      try {
        StoreCut cut = cuts.take(logs);
        me.note("took cut " + cut.number());
        world.history.cut(cut);
        read(me, cuts, cut);
        if (rng.oneIn(3)) {
          cuts.removeUnreadable(true, path -> {});
        }
      } catch (NothingSettledException | LogRemovedException | NoSuchCutException e) {
        me.note(e.getClass().getSimpleName());
      } catch (IOException e) {
        tolerate(me, calm, e);
      }
      wait(me);
    }
  }

  private void read(SimProcess me, Cuts cuts, StoreCut cut) throws IOException {
    for (Part part : cut.logs()) {
      History.View view = view(world, me.toString(), cuts, cut, part);
      world.history.views.add(view);
      world.history.cutViews.put(List.of(cut.number(), (long) view.log()), view);
    }
  }

  /**
   * What a cut gives of a log.
   *
   * @throws NoSuchCutException if some of it expired
   */
  static History.View view(World world, String who, Cuts cuts, StoreCut cut, Part part)
      throws IOException {
    int index = Integer.parseInt(part.name().value().substring("log-".length()));
    Log log = cuts.open(cut, part, Long.MIN_VALUE);
    var scan = new Scan(world.history, index, world.plan);
    long unused = log.reader().settled(Long.MIN_VALUE, cut.time(), true, scan, scan);
    Log same = cuts.open(cut, part, Long.MIN_VALUE); // or some of it expired meanwhile
    long floor = world.plan.expiring() ? same.reader().expired() : Long.MIN_VALUE;
    world.history.floor(index, floor);
    return new History.View(who, index, floor, cut.time(), scan.ids(), scan.times());
  }
}
