package dev.cinch.sim;

import dev.cinch.lease.sim.Counts;
import java.util.List;

/**
 * What a run came to.
 *
 * @param seed that it was drawn from
 * @param violations each a line; empty if every rule held
 * @param hash of everything that happened, in order
 * @param counts of what happened
 * @param trace the last events; empty unless there are violations
 */
record Outcome(long seed, List<String> violations, long hash, Counts counts, List<String> trace) {
  Outcome {
    violations = List.copyOf(violations);
    trace = List.copyOf(trace);
  }

  boolean passed() {
    return violations.isEmpty();
  }
}
