package dev.cinch.lease.table;

import static dev.cinch.lease.table.Refusals.invalid;

import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Witness;
import java.util.List;

/** How many logs the witnesses of one grant name, so that an answer is bounded (rule L4). */
final class LogBounds {
  private final int names;
  private int together;

  /**
   * @param names how many leases the grant has
   */
  LogBounds(int names) {
    this.names = names;
  }

  /**
   * The logs of the next lease with others added.
   *
   * @throws LeaseRefusedException {@code INVALID} if they are too many, here or with those before
   */
  LogSet widened(LogSet logs, LogSet add) throws LeaseRefusedException {
    LogSet widened = union(logs, add);
    together += widened.ids().size();
    // At once: all unions could take more memory than there is. Who adds none has no more.
    if (together > Grant.MAX_LOGS) {
      throw invalid(
          "%d leases would name more than %d logs together; add all logs instead"
              .formatted(names, Grant.MAX_LOGS));
    }
    return widened;
  }

  private static LogSet union(LogSet logs, LogSet add) throws LeaseRefusedException {
    if (logs.all() || add.isEmpty()) {
      return logs;
    }
    LogSet both = logs.union(add);
    if (both.ids().size() > Witness.MAX_LOGS) {
      throw invalid(
          "%d logs, more than %d; add all instead".formatted(both.ids().size(), Witness.MAX_LOGS));
    }
    return both;
  }

  /**
   * Keeps short what the fences of one grant say: those that name too many logs together are for
   * all logs, as one of them is that names too many (rule L4).
   *
   * @param leases of the grant, or some of them: then these get their share
   * @param names how many leases the grant has
   */
  static void boundFences(List<LeaseState> leases, int names) {
    int most = Grant.MAX_LOGS * leases.size() / Math.max(leases.size(), names);
    int together = 0;
    for (LeaseState lease : leases) {
      int named = lease.fenceLogs.ids().size();
      if (together + named > most) {
        lease.fenceLogs = LogSet.ALL;
      } else {
        together += named;
      }
    }
  }
}
