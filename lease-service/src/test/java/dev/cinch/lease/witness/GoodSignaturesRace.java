package dev.cinch.lease.witness;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZI_Result;

/** Of two threads that ask for the same signature one checks it, and the other waits. */
@JCStressTest
@Outcome(id = "true, true, 1", expect = Expect.ACCEPTABLE, desc = "one has checked it")
@Outcome(expect = Expect.FORBIDDEN, desc = "both have, or a good one was called bad")
@State
public class GoodSignaturesRace {
  private final GoodSignatures good = new GoodSignatures();
  private final AtomicInteger checks = new AtomicInteger();

  private boolean check() {
    return good.check(ByteBuffer.wrap(new byte[] {1}), () -> checks.incrementAndGet() > 0);
  }

  @Actor
  public void one(ZZI_Result r) {
    r.r1 = check();
  }

  @Actor
  public void other(ZZI_Result r) {
    r.r2 = check();
  }

  @Arbiter
  public void count(ZZI_Result r) {
    r.r3 = checks.get();
  }
}
