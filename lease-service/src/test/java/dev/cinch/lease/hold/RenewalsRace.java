package dev.cinch.lease.hold;

import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.memory.Rig;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/**
 * An executor that has queued a renewal and then throws, as a pool does that can't start a thread:
 * it may run all the same. Its end counts once, or more would be under way than may be.
 */
@JCStressTest
@Outcome(id = "1", expect = Expect.ACCEPTABLE, desc = "one is started when one may be under way")
@Outcome(expect = Expect.FORBIDDEN, desc = "more than may be, or none")
@State
public class RenewalsRace {
  private static final HoldSettings SETTINGS = HoldSettings.of(Rig.LEASE_MS);
  private static final Rig RIG = new Rig();
  private static final List<Grant> GRANTS = List.of(granted("a"), granted("b"), granted("c"));

  private final List<Runnable> started = new ArrayList<>();
  private volatile @Nullable Runnable queued;
  private boolean starved = true;
  private final Renewals renewals = new Renewals(RIG.time, this::execute, 1, () -> {});

  private final HeldLease first =
      keep(0); // not due to be renewed: to run its work takes no request

  private static Grant granted(String name) {
    try {
      return RIG.acquire(name);
    } catch (LeaseRefusedException e) {
      throw new AssertionError(e);
    }
  }

  private HeldLease keep(int number) {
    var lease =
        new HeldLease(
            RIG.service,
            RIG.time,
            SETTINGS,
            GRANTS.get(number),
            HeldLease.Asked.now(RIG.time),
            () -> LeaseReport.NOTHING,
            (lost, why) -> {},
            new Random(1));
    renewals.add(lease);
    return lease;
  }

  private void execute(Runnable task) {
    if (starved) {
      queued = task;
      throw new RejectedExecutionException("no thread can be started");
    }
    started.add(task);
  }

  @Actor
  public void plans() {
    long unused = renewals.step();
  }

  @Actor
  public void renews() {
    // Bounded: the other thread may not have come as far.
    for (int i = 0; i < 10_000; i++) {
      Runnable task = queued;
      if (task != null) {
        task.run();
        return;
      }
      Thread.onSpinWait();
    }
  }

  @Arbiter
  public void startsMore(I_Result r) {
    starved = false;
    first.close();
    var unused = List.of(keep(1), keep(2));
    long unusedWait = renewals.step();
    r.r1 = started.size();
  }
}
