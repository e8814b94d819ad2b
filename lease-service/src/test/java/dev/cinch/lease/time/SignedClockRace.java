package dev.cinch.lease.time;

import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/** Rule L6: signed time never goes back, though two threads read a clock that steps back. */
@JCStressTest
@Outcome(id = "true, true", expect = Expect.ACCEPTABLE, desc = "no thread saw it go back")
@Outcome(expect = Expect.FORBIDDEN, desc = "it went back")
@State
public class SignedClockRace {
  private static final long[] WALL = {100, 50, 60, 55};

  private final AtomicInteger reads = new AtomicInteger();
  private final SignedClock clock =
      new SignedClock(
          new TimeSource() {
            @Override
            public long wallNanos() {
              return WALL[reads.getAndIncrement() % WALL.length];
            }

            @Override
            public long monotonicNanos() {
              return 0;
            }

            @Override
            public void sleepNanos(long nanos) {}
          });

  private boolean goesOn() {
    long before = clock.read().now();
    return before <= clock.read().now();
  }

  @Actor
  public void one(ZZ_Result r) {
    r.r1 = goesOn();
  }

  @Actor
  public void other(ZZ_Result r) {
    r.r2 = goesOn();
  }
}
