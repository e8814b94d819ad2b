package dev.cinch.lease.memory;

import static dev.cinch.lease.memory.Rig.LEASE_MS;
import static dev.cinch.lease.memory.Rig.MS;
import static dev.cinch.lease.memory.Rig.only;
import static dev.cinch.lease.memory.Rig.wrote;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.Witness;
import dev.cinch.lease.time.ManualTime;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The first calls after the machine slept, by whose end its wall clock has jumped ahead. */
@Timeout(600)
final class ClockJumpTest {
  private static final long SLEPT_MS = 5_000;
  private static final long HOUR_MS = 3_600_000;

  private final ManualTime time = new ManualTime();
  private final FakeRegistry registry = new FakeRegistry(new FakeRegistry.Store());
  private final Rig rig = new Rig(time, registry);
  private final AtomicInteger looks = new AtomicInteger();
  private final CountDownLatch looking = new CountDownLatch(1);
  private final CountDownLatch answer = new CountDownLatch(1);

  @Test
  void l2_aReleaseThatIsTheFirstCallAfterItPassesItsWatermarkOn() throws Exception {
    Grant grant = rig.acquire("a");
    time.stepWallMs(SLEPT_MS);
    long written = time.wallNanos();
    rig.service.release(grant.id(), wrote(written));
    Witness next = only(rig.acquire("a"));
    assertEquals(Ending.RELEASED, next.previousEnding());
    assertEquals(written, next.watermark().timestamp());
  }

  @Test
  void l2_callsWaitForTheLookThatAnotherHasBegun() throws Exception {
    Grant a = acquireLate("a");
    Grant b = rig.acquire("b");
    time.stepWallMs(SLEPT_MS);
    FutureTask<Grant> first = lookFor(a, LeaseReport.NOTHING);
    FutureTask<Grant> second = waitFor(b, wrote(time.wallNanos()));
    answer.countDown();
    assertEquals(time.wallNanos() + LEASE_MS * MS, first.get().expiry());
    assertEquals(time.wallNanos() + LEASE_MS * MS, second.get().expiry());
    assertEquals(1, looks.get());
  }

  @Test
  void whenTheLookFailsThoseThatWaitedGoOnWithoutAnother() throws Exception {
    Grant a = acquireLate("a");
    Grant b = rig.acquire("b");
    long before = time.wallNanos();
    time.stepWallMs(SLEPT_MS);
    FutureTask<Grant> first = lookFor(a, LeaseReport.NOTHING);
    FutureTask<Grant> second = waitFor(b, LeaseReport.NOTHING);
    registry.broken = true;
    answer.countDown();
    assertEquals(before + LEASE_MS * MS, first.get().expiry());
    assertEquals(before + LEASE_MS * MS, second.get().expiry());
    assertEquals(1, looks.get());
  }

  @Test
  void aStoreThatHangsHoldsUpNoRenewalForEver() throws Exception {
    Grant a = rig.acquire("a");
    Grant b = rig.acquire("b");
    time.stepWallMs(SLEPT_MS);
    FutureTask<Grant> first = lookFor(a, LeaseReport.NOTHING);
    time.advanceNanos(LeaseEnds.StoreTurn.PATIENCE);
    Grant renewed = rig.renew(b, LeaseReport.NOTHING);
    assertEquals(time.wallNanos() + (LEASE_MS - SLEPT_MS) * MS, renewed.expiry());
    answer.countDown();
    assertEquals(a.id(), first.get().id());
  }

  /** Late enough that the clocks can be turned back to wait for long. */
  private Grant acquireLate(String name) throws Exception {
    time.advanceMs(2 * HOUR_MS);
    return rig.acquire(name);
  }

  /** A renewal that looks at the clock, and gets no answer until it is let. */
  private FutureTask<Grant> lookFor(Grant grant, LeaseReport report) throws Exception {
    registry.whileChecking =
        () -> {
          looks.incrementAndGet();
          looking.countDown();
          try {
            answer.await();
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
        };
    var renewal = new FutureTask<>(() -> rig.renew(grant, report));
    start(renewal);
    looking.await();
    return renewal;
  }

  /**
   * A renewal that waits, or has ended. The clocks are an hour back when it begins to, so that its
   * patience does not end for want of a processor.
   */
  private FutureTask<Grant> waitFor(Grant grant, LeaseReport report) throws InterruptedException {
    var renewal = new FutureTask<>(() -> rig.renew(grant, report));
    time.advanceMs(-HOUR_MS);
    Thread thread = start(renewal);
    while (!renewal.isDone() && thread.getState() != Thread.State.TIMED_WAITING) {
      if (Thread.interrupted()) {
        throw new InterruptedException("it neither waits nor ends");
      }
      Thread.onSpinWait();
    }
    time.advanceMs(HOUR_MS);
    return renewal;
  }

  private static Thread start(Runnable what) {
    var thread = new Thread(what, "renewing");
    thread.setDaemon(true);
    thread.start();
    return thread;
  }
}
