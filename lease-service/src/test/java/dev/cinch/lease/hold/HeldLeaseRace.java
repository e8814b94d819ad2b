package dev.cinch.lease.hold;

import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.time.ManualTime;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Mode;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.Signal;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.LI_Result;
import org.openjdk.jcstress.infra.results.L_Result;

/** Where a lease stands, while one thread renews it and another finds that its time is over. */
public final class HeldLeaseRace {
  private static final HoldSettings SETTINGS = HoldSettings.of(Rig.LEASE_MS);
  private static final Rig RIG = new Rig();
  private static final Grant GRANT = granted();
  private static final LeaseService ANSWERS =
      new ForwardingLeases(RIG.service) {
        @Override
        public dev.cinch.lease.Outcome carryOut(Operation operation) {
          return new dev.cinch.lease.Outcome.Granted(GRANT);
        }
      };

  private HeldLeaseRace() {}

  private static Grant granted() {
    Operation.Acquire request = RIG.request("a");
    try {
      return RIG.service.acquire(request);
    } catch (LeaseRefusedException | LeaseUnavailableException e) {
      throw new AssertionError(e);
    }
  }

  /** A lease, and how often its loss was told. */
  abstract static class Held {
    final ManualTime time = new ManualTime();
    final AtomicInteger losses = new AtomicInteger();
    final HeldLease lease =
        new HeldLease(
            ANSWERS,
            time,
            SETTINGS,
            GRANT,
            HeldLease.AskedAt.now(time),
            () -> LeaseReport.NOTHING,
            (lost, why) -> losses.incrementAndGet(),
            new Random(1));

    final long deadline = lease.deadline();

    /** So that a renewal moves the deadline. */
    Held() {
      time.advanceMs(1_000);
    }

    void renew() {
      try {
        lease.renew(LogSet.NONE);
      } catch (LeaseRefusedException | LeaseUnavailableException e) {
        // lost meanwhile
      }
    }
  }

  /** It is lost, and that is told once; or it was renewed, and nothing is told. */
  @JCStressTest
  @Outcome(id = "HELD, 0", expect = Expect.ACCEPTABLE, desc = "renewed before it was looked at")
  @Outcome(id = "LOST, 1", expect = Expect.ACCEPTABLE, desc = "its time was over first")
  @Outcome(expect = Expect.FORBIDDEN, desc = "lost after its renewal, found again, or told wrong")
  @State
  public static class RenewedOrLost extends Held {
    @Actor
    public void renews() {
      renew();
    }

    @Actor
    public void expires() {
      lease.expire(deadline);
    }

    @Arbiter
    public void stands(LI_Result r) {
      // Told in time if it is lost; held on if the deadline has moved.
      r.r1 =
          lease.deadline() == deadline || lease.state() == HeldLease.State.HELD
              ? lease.state()
              : "lost with another deadline";
      r.r2 = losses.get();
    }
  }

  /** Two threads find that its time is over. */
  @JCStressTest
  @Outcome(id = "LOST, 1", expect = Expect.ACCEPTABLE, desc = "told once")
  @Outcome(expect = Expect.FORBIDDEN, desc = "told twice, or not at all")
  @State
  public static class ToldOnce extends Held {
    @Actor
    public void one() {
      lease.expire(deadline);
    }

    @Actor
    public void other() {
      lease.expire(deadline);
    }

    @Arbiter
    public void told(LI_Result r) {
      r.r1 = lease.state();
      r.r2 = losses.get();
    }
  }

  /** What was closed stays closed: nothing is written under it after its release. */
  @JCStressTest
  @Outcome(id = "CLOSED", expect = Expect.ACCEPTABLE, desc = "closed, whatever was answered")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a late answer opened it again")
  @State
  public static class ClosedForGood extends Held {
    @Actor
    public void renews() {
      renew();
    }

    @Actor
    public void closes() {
      lease.close();
    }

    @Arbiter
    public void stands(L_Result r) {
      r.r1 = lease.state();
    }
  }

  /** A thread that asks again and again sees that it was closed. */
  @JCStressTest(Mode.Termination)
  @Outcome(id = "TERMINATED", expect = Expect.ACCEPTABLE, desc = "seen")
  @Outcome(id = "STALE", expect = Expect.FORBIDDEN, desc = "never seen")
  @State
  public static class SeenByWriters extends Held {
    @Actor
    public void writes() {
      while (lease.state() == HeldLease.State.HELD) {
        // goes on
      }
    }

    @Signal
    public void closes() {
      lease.close();
    }
  }
}
