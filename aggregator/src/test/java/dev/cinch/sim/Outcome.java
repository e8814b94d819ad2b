package dev.cinch.sim;

import dev.cinch.sim.fs.FaultKind;
import java.util.List;

/**
 * What a run came to.
 *
 * @param seed that it was drawn from
 * @param violations each a line; empty if every rule held
 * @param hash of everything that happened, in order
 * @param statistics of it
 * @param trace the last events; empty unless there are violations
 */
record Outcome(
    long seed, List<String> violations, long hash, Statistics statistics, List<String> trace) {
  Outcome {
    violations = List.copyOf(violations);
    trace = List.copyOf(trace);
  }

  boolean passed() {
    return violations.isEmpty();
  }

  /**
   * Counts.
   *
   * @param operations of files and network
   * @param lastWords instances of the lease service that left some
   * @param expired segments
   * @param ended logs that were settled to the end of time
   * @param faults how often each struck, by ordinal
   */
  record Statistics(
      long runs,
      long operations,
      long switches,
      long committed,
      long rejected,
      long refused,
      long unknown,
      long crashes,
      long grants,
      long fences,
      long resumes,
      long lastWords,
      long expired,
      long ended,
      long[] faults) {
    static final Statistics NONE =
        new Statistics(
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, new long[FaultKind.values().length]);

    Statistics plus(Statistics o) {
      var sum = faults.clone();
      for (int i = 0; i < sum.length; i++) {
        sum[i] += o.faults[i];
      }
      return new Statistics(
          runs + o.runs,
          operations + o.operations,
          switches + o.switches,
          committed + o.committed,
          rejected + o.rejected,
          refused + o.refused,
          unknown + o.unknown,
          crashes + o.crashes,
          grants + o.grants,
          fences + o.fences,
          resumes + o.resumes,
          lastWords + o.lastWords,
          expired + o.expired,
          ended + o.ended,
          sum);
    }

    @Override
    public String toString() {
      var text = new StringBuilder();
      text.append(
          ("%,d runs, %,d operations, %,d switches, %,d committed, %,d rejected, %,d refused,"
                  + " %,d untold, %,d crashes, %,d grants, %,d after a fence, %,d resumed,"
                  + " %,d last words,"
                  + " %,d segments expired, %,d logs ended%n")
              .formatted(
                  runs,
                  operations,
                  switches,
                  committed,
                  rejected,
                  refused,
                  unknown,
                  crashes,
                  grants,
                  fences,
                  resumes,
                  lastWords,
                  expired,
                  ended));
      for (FaultKind kind : FaultKind.values()) {
        text.append("  %-20s %,d%n".formatted(kind, faults[kind.ordinal()]));
      }
      return text.toString();
    }
  }
}
