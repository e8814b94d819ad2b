package dev.cinch.sim;

import dev.cinch.bag.model.Receipt;
import dev.cinch.lease.sim.Counts;
import dev.cinch.lease.sim.SeedCampaign;
import dev.cinch.sim.fs.FaultKind;
import java.util.ArrayList;
import java.util.List;

/**
 * One world from its beginning to the checks at its end. The same seed always gives the same run,
 * event by event.
 */
final class Simulation {
  private Simulation() {}

  /** Draws a world from a seed, runs and checks it. */
  static Outcome run(long seed) {
    try (var bench = new Workbench()) {
      return run(Plan.draw(seed), bench);
    }
  }

  static Outcome run(Plan plan, Workbench bench) {
    var world = new World(plan, bench);
    world.populate();
    world.scheduler.run();
    History history = world.history;
    Throwable failure = world.scheduler.failure();
    String stuck = world.scheduler.stuck();
    if (stuck != null) {
      history.violation("the run does not end: given up after " + stuck);
    } else if (failure != null) {
      history.violation("a process failed: " + SeedCampaign.text(failure));
    } else {
      world.calm();
      world.scheduler.quiet();
      try {
        new Checks(world).run();
      } catch (Exception | Error e) {
        history.violation("the check failed: " + SeedCampaign.text(e));
      }
    }
    List<String> trace = List.of();
    if (!history.violations.isEmpty()) {
      trace = new ArrayList<>(world.scheduler.trace().lines());
      trace.add(plan.toString());
      for (History.Attempt a : history.attempts) {
        trace.add(a.toString());
      }
      trace.add(world.describe());
    }
    return new Outcome(
        plan.seed(), history.violations, world.scheduler.trace().hash(), count(world), trace);
  }

  /** Operations are those of files and network; last words are those of instances. */
  private static Counts count(World world) {
    History history = world.history;
    var counts = new Counts();
    counts.add("operations", world.scheduler.steps());
    counts.add("switches", world.scheduler.switches());
    List.of("committed", "rejected", "refused", "untold").forEach(fate -> counts.add(fate, 0));
    history.attempts.forEach(a -> counts.add(fate(a), 1));
    counts.add("crashes", world.crashes);
    counts.add("grants", history.held.size());
    counts.add("after a fence", history.held.values().stream().filter(h -> h.fenced).count());
    counts.add("resumed", history.held.values().stream().filter(h -> h.resumed).count());
    counts.add("last words", world.leases.lastWords());
    counts.add("segments expired", history.expired);
    counts.add("logs ended", history.ended.size());
    for (FaultKind kind : FaultKind.values()) {
      counts.add(kind.name(), world.faults.counts()[kind.ordinal()]);
    }
    return counts;
  }

  private static String fate(History.Attempt a) {
    if (!a.submitted) {
      return "refused";
    }
    if (a.receipt == null) {
      return "untold";
    }
    return a.receipt instanceof Receipt.Committed ? "committed" : "rejected";
  }
}
