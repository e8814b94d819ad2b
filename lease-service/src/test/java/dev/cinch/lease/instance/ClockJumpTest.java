package dev.cinch.lease.instance;

import static dev.cinch.lease.instance.Rig.LEASE_MS;
import static dev.cinch.lease.instance.Rig.MS;
import static dev.cinch.lease.instance.Rig.only;
import static dev.cinch.lease.instance.Rig.wrote;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.Witness;
import dev.cinch.lease.time.ManualTime;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The first calls after the machine slept, by whose end its wall clock has jumped ahead. */
@Timeout(600)
final class ClockJumpTest {
  private static final long SLEPT_MS = 5_000;

  private final ManualTime time = new ManualTime();
  private final FakeRegistry registry = new FakeRegistry(new FakeRegistry.Store());
  private final Rig rig = new Rig(time, registry, this::atStore);
  private final AtomicInteger looks = new AtomicInteger();
  private final Deque<Runnable> waiting = new ArrayDeque<>();
  private boolean hangs;

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
    Grant a = rig.acquire("a");
    Grant b = rig.acquire("b");
    time.stepWallMs(SLEPT_MS);
    var begun = List.of(begin(a, LeaseReport.NOTHING), begin(b, wrote(time.wallNanos())));
    begun.forEach(each -> assertFalse(each.isDone()));
    answer();
    for (CompletableFuture<List<Outcome>> each : begun) {
      assertEquals(time.wallNanos() + LEASE_MS * MS, each.join().get(0).grant().expiry());
    }
    assertEquals(1, looks.get());
  }

  @Test
  void whenTheLookFailsThoseThatWaitedGoOnWithoutAnother() throws Exception {
    Grant a = rig.acquire("a");
    Grant b = rig.acquire("b");
    long before = time.wallNanos();
    time.stepWallMs(SLEPT_MS);
    var begun = List.of(begin(a, LeaseReport.NOTHING), begin(b, LeaseReport.NOTHING));
    registry.broken = true;
    answer();
    for (CompletableFuture<List<Outcome>> each : begun) {
      assertEquals(before + LEASE_MS * MS, each.join().get(0).grant().expiry());
    }
    assertEquals(1, looks.get());
  }

  @Test
  void aStoreThatHangsHoldsUpNoRenewalForEver() throws Exception {
    var alone = new Rig(time, registry, null);
    Grant a = alone.acquire("a");
    Grant b = alone.acquire("b");
    time.stepWallMs(SLEPT_MS);
    var looking = new CountDownLatch(1);
    var answer = new CountDownLatch(1);
    registry.whileChecking =
        () -> {
          looking.countDown();
          try {
            answer.await();
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
        };
    Operation renewal = new Operation.Renew(a.id(), LEASE_MS, LogSet.NONE, LeaseReport.NOTHING);
    var first = alone.service.begin(List.of(List.of(renewal))).get(0);
    looking.await();
    time.advanceNanos(Publisher.HANGS_AFTER);
    Grant renewed = alone.renew(b, LeaseReport.NOTHING);
    assertEquals(time.wallNanos() + (LEASE_MS - SLEPT_MS) * MS, renewed.expiry());
    answer.countDown();
    assertEquals(a.id(), first.get().get(0).grant().id());
  }

  /** By its own clock the ceiling would do. But it may be as late as the wall clock says. */
  @Test
  void l3_nothingIsSignedAboveTheCeilingByAClockThatSlept() throws Exception {
    Grant grant = rig.acquire("a");
    long ceiling = rig.service.info().ceiling().orElseThrow();
    assertEquals(time.wallNanos() + 2 * LEASE_MS * MS, ceiling);
    registry.broken = true; // so that nobody says whether the machine slept
    time.stepWallMs(LEASE_MS / 2);
    Grant renewed = rig.renew(grant, LeaseReport.NOTHING);
    assertEquals(ceiling - LEASE_MS * MS, renewed.expiry());
    time.stepWallMs(LEASE_MS);
    Rig.refused(Reason.NOT_YET, () -> rig.renew(grant, LeaseReport.NOTHING));
  }

  private CompletableFuture<List<Outcome>> begin(Grant grant, LeaseReport report) {
    hangs = true;
    registry.whileChecking = looks::incrementAndGet;
    Operation renewal = new Operation.Renew(grant.id(), LEASE_MS, LogSet.NONE, report);
    return rig.service.begin(List.of(List.of(renewal))).get(0);
  }

  /** What is to be done in the store, while it does not answer. */
  private void atStore(Runnable task) {
    if (hangs) {
      waiting.add(task);
    } else {
      task.run();
    }
  }

  private void answer() {
    hangs = false;
    waiting.forEach(Runnable::run);
  }
}
