package dev.cinch.sim;

import dev.cinch.sim.fs.FaultKind;

/** Looks for a smaller world that fails as well: fewer faults, processes and operations. */
final class Shrinker {
  private static final int ATTEMPTS = 200;

  private final Workbench bench;
  private int attempts;

  Shrinker(Workbench bench) {
    this.bench = bench;
  }

  /** The smallest plan found that still breaks a rule; the one given if none does. */
  Plan shrink(Plan failing) {
    Plan best = failing;
    boolean smaller = true;
    while (smaller && attempts < ATTEMPTS) {
      smaller = false;
      for (FaultKind kind : FaultKind.values()) {
        if (best.on().contains(kind) && fails(best.without(kind))) {
          best = best.without(kind);
          smaller = true;
        }
      }
      for (int i = best.roles().size() - 1; i >= 0; i--) {
        if (best.roles().size() > 1 && fails(best.withoutRole(i))) {
          best = best.withoutRole(i);
          smaller = true;
        }
      }
      for (int n = 1; n < best.operations(); n++) {
        if (fails(best.withOperations(n))) {
          best = best.withOperations(n);
          smaller = true;
        }
      }
    }
    return best;
  }

  private boolean fails(Plan plan) {
    return attempts++ < ATTEMPTS && !Simulation.run(plan, bench).passed();
  }
}
