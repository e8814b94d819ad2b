package dev.cinch.lease.hold;

import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.instance.Rig;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/** One of two threads goes on with the id of a request that was refused: two would be one grant. */
@JCStressTest
@Outcome(id = "1", expect = Expect.ACCEPTABLE, desc = "one has the place in the queue")
@Outcome(expect = Expect.FORBIDDEN, desc = "two threads share a grant, or the place is lost")
@State
public class LostAnswersRace {
  private static final List<LeaseName> NAMES = List.of(new LeaseName("a"));
  private static final LeaseService NOBODY = new Rig().service;

  private final LostAnswers answers = new LostAnswers(NOBODY);
  private final AtomicInteger again = new AtomicInteger();

  /** One that was refused since others have the lease. */
  public LostAnswersRace() {
    acquire(1, Reason.HELD);
    again.set(0);
  }

  private void acquire(int id, Reason refusal) {
    var wanted = new Operation.Acquire(new Id(id, 0), NAMES, "h", 1_000, LogSet.ALL, false);
    try {
      var unused =
          answers.acquire(
              wanted,
              (service, asked) -> {
                again.addAndGet(asked.id().high() == 1 ? 1 : 0);
                throw new LeaseRefusedException(refusal, "refused", 1);
              });
    } catch (LeaseRefusedException | LeaseUnavailableException | InterruptedException e) {
      // as it was to be
    }
  }

  @Actor
  public void one() {
    acquire(2, Reason.NOT_YET);
  }

  @Actor
  public void other() {
    acquire(3, Reason.NOT_YET);
  }

  @Arbiter
  public void count(I_Result r) {
    r.r1 = again.get();
  }
}
