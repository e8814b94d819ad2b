package dev.cinch.lease.instance;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.J_Result;

/** Rule L3: ceilings go as far as the longest of the leases that were granted at once. */
@JCStressTest
@Outcome(id = "20", expect = Expect.ACCEPTABLE, desc = "the longer one counts")
@Outcome(expect = Expect.FORBIDDEN, desc = "the longer one is forgotten")
@State
public class CeilingReachRace {
  private final CeilingReach reach = new CeilingReach(30_000_000_000L);

  @Actor
  public void shorter() {
    reach.note(10);
  }

  @Actor
  public void longer() {
    reach.note(20);
  }

  @Arbiter
  public void longest(J_Result r) {
    r.r1 = reach.longest(0);
  }
}
