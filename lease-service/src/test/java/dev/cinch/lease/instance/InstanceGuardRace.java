package dev.cinch.lease.instance;

import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.instance.StoreCalls.StoreNeededException;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.time.SignedClock;
import dev.cinch.lease.time.SignedClock.Reading;
import dev.cinch.lease.witness.TrustedKeys;
import java.io.IOException;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Mode;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.Signal;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.L_Result;
import org.openjdk.jcstress.infra.results.ZZI_Result;

/** What threads that grant leases see of ceilings and of later instances. */
public final class InstanceGuardRace {
  private static final long SECOND = 1_000_000_000L;

  private InstanceGuardRace() {}

  /** The store, which notes whether two threads call it at once. */
  private static final class Files implements InstanceRegistry {
    final AtomicInteger calls = new AtomicInteger();
    final AtomicInteger together = new AtomicInteger();
    volatile long ceiling = Long.MIN_VALUE;
    volatile boolean replaced;

    private <T> T alone(Supplier<T> call) {
      if (calls.incrementAndGet() > 1) {
        together.incrementAndGet();
      }
      T found = call.get();
      calls.decrementAndGet();
      return found;
    }

    @Override
    public void checkClock(long wall) {
      boolean unused = alone(() -> true);
    }

    @Override
    public boolean publishCeiling(long higher) {
      return alone(
          () -> {
            ceiling = higher;
            return !replaced;
          });
    }

    @Override
    public boolean isLatest() {
      return alone(() -> !replaced);
    }

    @Override
    public Id store() {
      return new Id(7, 7);
    }

    @Override
    public long clocksApartNanos() {
      return 0;
    }

    @Override
    public long timestampsOffNanos() {
      return 0;
    }

    @Override
    public long takeNumber() {
      return 1;
    }

    @Override
    public OptionalLong highestEarlierCeiling() {
      return OptionalLong.empty();
    }

    @Override
    public OptionalLong lastEarlierInstance(LeaseName name) {
      return OptionalLong.empty();
    }

    @Override
    public Set<InstanceRegistry.End> end(List<InstanceRegistry.End> ends) {
      return Set.copyOf(ends);
    }

    @Override
    public Revocation revoked(Revocation revocation) {
      return revocation;
    }

    @Override
    public TrustedKeys trustedKeys() {
      return TrustedKeys.of(Rig.KEY.publicKey());
    }

    @Override
    public String latest() {
      return "instance 2";
    }
  }

  /** An instance that has published a ceiling, or not. */
  abstract static class Guarded {
    final Files files = new Files();
    final ManualTime time = new ManualTime();
    final SignedClock clock = new SignedClock(time);
    final Publisher publisher;
    final InstanceGuard guard;

    Guarded() {
      try {
        publisher =
            Publisher.start(
                files, true, 30 * SECOND, 30 * SECOND, clock, clock.read(), 0, this::inTurn);
        guard = publisher.guard();
      } catch (IOException e) {
        throw new AssertionError(e);
      }
    }

    private synchronized void inTurn(Runnable task) {
      task.run();
    }

    /** A reading of its clocks so much later than the start. */
    static Reading at(long nanos) {
      long start = -5 * SECOND;
      return new Reading(
          ManualTime.START + nanos,
          start + nanos,
          0,
          ManualTime.START + nanos,
          false,
          start + nanos);
    }

    /** Asks for an expiry so long from then, as operations do. */
    long permit(Reading at, long duration) throws LeaseRefusedException {
      while (true) {
        try {
          long permitted = guard.permit(at);
          if (permitted >= at.now() + duration) {
            return permitted;
          }
          throw guard.needed(at.now() + duration, at);
        } catch (StoreNeededException needed) {
          boolean unused = publisher.meet(needed).join();
        }
      }
    }

    /** Whether what it may sign is no higher than what stands in the store (rule L3). */
    boolean isBelowCeiling(long duration) {
      try {
        return permit(at(0), duration) <= files.ceiling;
      } catch (LeaseRefusedException e) {
        return false;
      }
    }
  }

  /** Rule L3: nothing is signed above a ceiling that is not published yet. */
  @JCStressTest
  @Outcome(id = "true, true, 0", expect = Expect.ACCEPTABLE, desc = "published first, one by one")
  @Outcome(expect = Expect.FORBIDDEN, desc = "signed above the ceiling, or two called the store")
  @State
  public static class PublishedFirst extends Guarded {
    @Actor
    public void one(ZZI_Result r) {
      r.r1 = isBelowCeiling(SECOND);
    }

    @Actor
    public void other(ZZI_Result r) {
      r.r2 = isBelowCeiling(10 * SECOND);
    }

    @Arbiter
    public void together(ZZI_Result r) {
      r.r3 = files.together.get();
    }
  }

  /**
   * Rule L9: an instance that was paused looks for a later one. A look that began before the pause
   * says nothing about it.
   */
  @JCStressTest
  @Outcome(id = "SUPERSEDED", expect = Expect.ACCEPTABLE, desc = "it has looked after the pause")
  @Outcome(expect = Expect.FORBIDDEN, desc = "it goes on by a look from before the pause")
  @State
  public static class PausedMeanwhile extends Guarded {
    /** It has a ceiling for whatever comes, and a look is due. */
    public PausedMeanwhile() {
      boolean unused = isBelowCeiling(30 * SECOND);
      publisher.maintain(at(SECOND * 5 / 2));
    }

    @Actor
    public void looks() {
      publisher.maintain(at(5 * SECOND));
    }

    @Actor
    public void wakes(L_Result r) {
      files.replaced = true;
      try {
        long unused = permit(at(20 * SECOND), SECOND);
        r.r1 = "GRANTED";
      } catch (LeaseRefusedException e) {
        r.r1 = e.reason();
      }
    }
  }

  /** Threads that grant without asking the store see that another instance has taken over. */
  @JCStressTest(Mode.Termination)
  @Outcome(id = "TERMINATED", expect = Expect.ACCEPTABLE, desc = "seen")
  @Outcome(id = "STALE", expect = Expect.FORBIDDEN, desc = "never seen")
  @State
  public static class Superseded extends Guarded {
    @Actor
    public void grants() {
      while (!guard.isSuperseded()) {
        // goes on
      }
    }

    @Signal
    public void takesOver() {
      files.replaced = true;
      try {
        long unused = permit(at(0), SECOND);
        throw new AssertionError("granted");
      } catch (LeaseRefusedException e) {
        if (e.reason() != Reason.SUPERSEDED) {
          throw new AssertionError(e);
        }
      }
    }
  }
}
