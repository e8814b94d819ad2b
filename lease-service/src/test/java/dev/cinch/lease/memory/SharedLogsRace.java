package dev.cinch.lease.memory;

import dev.cinch.lease.Id;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.table.SharedLogs;
import java.util.List;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/** A number that was given to a set of logs stands for that set, though two get theirs at once. */
@JCStressTest
@Outcome(id = "true, true", expect = Expect.ACCEPTABLE, desc = "each number is of its set")
@Outcome(expect = Expect.FORBIDDEN, desc = "a lease would permit other logs")
@State
public class SharedLogsRace {
  private static final LogSet A = LogSet.of(List.of(new Id(0, 1)));
  private static final LogSet B = LogSet.of(List.of(new Id(0, 2)));

  private final SharedLogs sets = new SharedLogs();

  private boolean isKept(LogSet logs) {
    return sets.at(sets.numberOf(logs)).equals(logs);
  }

  @Actor
  public void one(ZZ_Result r) {
    r.r1 = isKept(A);
  }

  @Actor
  public void other(ZZ_Result r) {
    r.r2 = isKept(B);
  }
}
