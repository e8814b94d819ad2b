package dev.cinch.sim;

import dev.cinch.bag.model.Receipt;
import dev.cinch.sim.Outcome.Statistics;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;

/**
 * One world from its beginning to the checks at its end. The same seed always gives the same run,
 * event by event.
 */
final class Simulation {
  private static final int LINES = 16;

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
      history.violation("a process failed: " + text(failure));
    } else {
      world.calm();
      world.scheduler.quiet();
      try {
        new Checks(world).run();
      } catch (Exception | Error e) {
        history.violation("the check failed: " + text(e));
      }
    }
    List<String> trace = List.of();
    if (!history.violations.isEmpty()) {
      trace = new ArrayList<>(world.scheduler.trace().lines());
      trace.add(plan.toString());
      for (History.Attempt a : history.attempts) {
        trace.add(a.toString());
      }
      trace.add(world.server.describe());
    }
    return new Outcome(
        plan.seed(), history.violations, world.scheduler.trace().hash(), count(world), trace);
  }

  private static String text(Throwable e) {
    var out = new StringWriter();
    e.printStackTrace(new PrintWriter(out));
    return out.toString().lines().limit(LINES).collect(java.util.stream.Collectors.joining("\n"));
  }

  private static Statistics count(World world) {
    long committed = 0;
    long rejected = 0;
    long refused = 0;
    long unknown = 0;
    for (History.Attempt a : world.history.attempts) {
      if (!a.submitted) {
        refused++;
      } else if (a.receipt == null) {
        unknown++;
      } else if (a.receipt instanceof Receipt.Committed) {
        committed++;
      } else {
        rejected++;
      }
    }
    int[] struck = world.faults.counts();
    var faults = new long[struck.length];
    for (int i = 0; i < struck.length; i++) {
      faults[i] = struck[i];
    }
    long fences = world.history.held.values().stream().filter(h -> h.fenced).count();
    return new Statistics(
        1,
        world.scheduler.steps(),
        world.scheduler.switches(),
        committed,
        rejected,
        refused,
        unknown,
        world.crashes,
        world.history.held.size(),
        fences,
        world.history.held.values().stream().filter(h -> h.resumed).count(),
        world.leases.lastWords(),
        world.history.expired,
        world.history.ended.size(),
        faults);
  }
}
