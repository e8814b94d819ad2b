package dev.cinch.lease.client;

import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Operation;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZI_Result;

/**
 * Threads that ask at once: each gets what became of its own operation, which is sent once. One of
 * them asks again while its request is under way, so that both requests that may be under way are
 * its own, and the other thread has to be told.
 */
@JCStressTest
@Outcome(id = "true, true, 3", expect = Expect.ACCEPTABLE, desc = "each has its own answer")
@Outcome(expect = Expect.FORBIDDEN, desc = "an answer of another, none, or sent twice")
@State
public class GathererRace {
  private static final Operation OUTER = operation(1);
  private static final Operation INNER = operation(2);
  private static final Operation OTHER = operation(3);

  private final AtomicInteger sent = new AtomicInteger();
  private final Gatherer<Operation> gatherer = new Gatherer<>(this::send);

  private static Operation operation(long id) {
    return new Operation.Release(new Id(0, id), LeaseReport.NOTHING);
  }

  private List<Operation> send(List<Operation> operations) throws LeaseUnavailableException {
    sent.addAndGet(operations.size());
    if (operations.contains(OUTER) && gatherer.call(INNER) != INNER) {
      throw new LeaseUnavailableException("answered for another", null);
    }
    return operations;
  }

  private boolean isAnswered(Operation own) {
    try {
      return gatherer.call(own) == own;
    } catch (LeaseUnavailableException e) {
      return false;
    }
  }

  @Actor
  public void one(ZZI_Result r) {
    r.r1 = isAnswered(OUTER);
  }

  @Actor
  public void other(ZZI_Result r) {
    r.r2 = isAnswered(OTHER);
  }

  @Arbiter
  public void count(ZZI_Result r) {
    r.r3 = sent.get();
  }
}
