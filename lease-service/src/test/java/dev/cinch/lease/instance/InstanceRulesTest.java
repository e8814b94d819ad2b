package dev.cinch.lease.instance;

import static dev.cinch.lease.instance.Rig.LEASE_MS;
import static dev.cinch.lease.instance.Rig.MS;
import static dev.cinch.lease.instance.Rig.at;
import static dev.cinch.lease.instance.Rig.only;
import static dev.cinch.lease.instance.Rig.refused;
import static dev.cinch.lease.time.ManualTime.START;
import static java.util.concurrent.TimeUnit.MINUTES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseInfo.State;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Watermark;
import dev.cinch.lease.Witness;
import dev.cinch.lease.rules.Inheritance;
import dev.cinch.lease.table.MemoryLeases;
import dev.cinch.lease.table.TableLimits;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.witness.WitnessSigner;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;

/** Rules L3, L6, L9. */
final class InstanceRulesTest {
  private static final long LONGEST_MS = ServiceInstance.DEFAULT_LONGEST_LEASE_MS;
  private static final long AHEAD_MS = ServiceInstance.DEFAULT_CEILING_AHEAD_MS;

  private final ManualTime time = new ManualTime();
  private final FakeRegistry.Store store = new FakeRegistry.Store();
  private final FakeRegistry registry = new FakeRegistry(store);

  @Test
  void l3_theFirstInstanceOfAStoreGrantsAtOnceWithoutAFence() throws Exception {
    var rig = new Rig(time, registry);
    Witness w = only(rig.acquire("a"));
    assertEquals(1, w.instance());
    assertEquals(Ending.NONE, w.previousEnding());
    assertEquals(Fence.NONE, w.fence());
    assertEquals(Watermark.NONE, w.watermark());
    assertEquals(List.of("take", "earlier", "publish"), registry.calls);
  }

  @Test
  void l3_noExpiryIsSignedAboveAPublishedCeiling() throws Exception {
    var rig = new Rig(time, registry);
    for (int i = 0; i < 200; i++) {
      time.advanceMs(4_000);
      Grant grant = rig.service.acquire(longest(rig, "n" + i));
      assertTrue(grant.expiry() <= ceiling(1));
    }
    long published = registry.count("publish");
    assertTrue(published >= 800 / 30 && published <= 800 / 12, published + " ceilings in 800 s");
  }

  @Test
  void l3_theTableRefusesAnExpiryAboveTheCeilingByItself() {
    var table =
        new MemoryLeases(
            TableLimits.DEFAULT,
            1,
            Inheritance.origin(Ending.NONE, Fence.NONE),
            Fence.NONE,
            0,
            Optional.empty());
    var rig = new Rig();
    long ceiling = START + LEASE_MS * MS - 1;
    refused(Reason.NOT_YET, () -> table.acquire(rig.request("a"), at(START), ceiling));
  }

  /** Else messages under it would be left out. */
  @Test
  void f3_noLeaseOutlastsTheSigningKey() throws Exception {
    registry.keyEnd = START + (LEASE_MS + 500) * MS;
    var rig = new Rig(time, registry);
    refused(Reason.NOT_YET, () -> rig.service.acquire(longest(rig, "long")));
    Grant grant = rig.acquire("a");
    assertTrue(grant.expiry() <= registry.keyEnd);
    assertEquals(registry.keyEnd, ceiling(1)); // nor does a ceiling, on which others wait
    assertEquals(Optional.empty(), rig.service.obstacle());
    time.advanceMs(501);
    refused(
        Reason.NOT_YET,
        () -> rig.service.renew(grant.id(), LEASE_MS, LogSet.NONE, LeaseReport.NOTHING));
    Grant shorter = rig.service.renew(grant.id(), LEASE_MS - 1, LogSet.NONE, LeaseReport.NOTHING);
    assertEquals(registry.keyEnd, shorter.expiry());
    rig.service.release(grant.id(), LeaseReport.NOTHING);
    time.advanceMs(LEASE_MS);
    assertEquals(Reason.NOT_YET, rig.service.obstacle().orElseThrow().reason());
  }

  @Test
  void l3_maintenanceKeepsTheCeilingAheadSoThatRequestsNeedNoStore() throws Exception {
    var rig = new Rig(time, registry);
    Grant grant = rig.service.acquire(longest(rig, "a"));
    time.advanceMs(10_000);
    grant = rig.service.renew(grant.id(), LONGEST_MS, LogSet.NONE, LeaseReport.NOTHING);
    assertEquals(START + (10_000 + LONGEST_MS) * MS, grant.expiry());
    time.advanceMs(5_001);
    rig.service.maintain();
    assertEquals(2, registry.count("publish"));
    rig.service.maintain();
    assertEquals(2, registry.count("publish"));
    assertEquals(
        START + (15_001 + LONGEST_MS + AHEAD_MS) * MS, rig.service.info().ceiling().orElseThrow());
  }

  @Test
  void l3_ceilingsLieAsFarAheadAsTheServiceIsTold() throws Exception {
    var service =
        ServiceInstance.builder(new WitnessSigner(Rig.KEY), time)
            .storeInCallers()
            .registry(registry)
            .ceilingAheadMs(500)
            .start();
    var rig = new Rig();
    var unused = service.acquire(rig.request("a"));
    assertEquals(START + (LEASE_MS + 500) * MS, service.info().ceiling().orElseThrow());
    time.advanceMs(250);
    unused = service.acquire(rig.request("b"));
    service.maintain();
    assertEquals(1, registry.count("publish")); // not yet half of it
    time.advanceMs(1);
    service.maintain();
    assertEquals(START + (LEASE_MS + 751) * MS, service.info().ceiling().orElseThrow());
    var builder = ServiceInstance.builder(new WitnessSigner(Rig.KEY), time);
    for (long wrong : new long[] {0, -1, ServiceInstance.MAX_LONGEST_LEASE_MS + 1}) {
      assertThrows(IllegalArgumentException.class, () -> builder.ceilingAheadMs(wrong));
    }
  }

  @Test
  void l3_nothingIsSignedWhileACeilingCanNotBePublished() throws Exception {
    var rig = new Rig(time, registry);
    Grant grant = rig.service.acquire(longest(rig, "a"));
    registry.broken = true;
    time.advanceMs(4_000);
    var unused = rig.service.acquire(longest(rig, "b")); // The present ceiling serves.
    for (int i = 0; i < 8; i++) {
      time.advanceMs(4_000);
      rig.service.maintain();
    }
    LeaseRefusedException e = refused(Reason.NOT_YET, () -> rig.service.acquire(longest(rig, "c")));
    assertTrue(String.valueOf(e.getMessage()).contains("stale file handle"), e.getMessage());
    assertTrue(e.retryAfterMs() > 0);
    refused(
        Reason.NOT_YET,
        () -> rig.service.renew(grant.id(), LONGEST_MS, LogSet.NONE, LeaseReport.NOTHING));
    registry.broken = false;
    assertEquals(1, rig.service.acquire(longest(rig, "c")).witnesses().size());
  }

  private static final long TEN_YEARS_MS = 10 * 365 * 86_400_000L;

  /** Both clocks go on; the service's may have been set wrong before. */
  private void pass(ManualTime right, long ms) {
    time.advanceMs(ms);
    right.advanceMs(ms);
  }

  @Test
  void l3_aClockThatIsFarAheadForAMomentLeavesNoTrace() throws Exception {
    var right = new ManualTime();
    registry.clock = right;
    var rig = new Rig(time, registry);
    Grant grant = rig.acquire("a");
    long before = ceiling(1);
    pass(right, 1_000);
    time.stepWallMs(TEN_YEARS_MS);
    rig.service.maintain();
    assertEquals(1, registry.count("publish"));
    assertEquals(right.wallNanos(), rig.service.now());
    assertFalse(rig.service.info().ceiling().orElseThrow() > before);
    assertEquals(State.HELD, rig.service.show(Rig.names("a").get(0)).orElseThrow().state());
    // What the ceiling covers goes on, by the monotonic clock.
    assertEquals(right.wallNanos() + LEASE_MS * MS, rig.acquire("b").expiry());
    time.stepWallMs(-TEN_YEARS_MS);
    assertEquals(0, rig.service.info().clockBehindMs());
    assertEquals(right.wallNanos() + LEASE_MS * MS, rig.acquire("c").expiry());
    assertEquals(right.wallNanos() + LEASE_MS * MS, rig.renew(grant, LeaseReport.NOTHING).expiry());
  }

  @Test
  void l3_nothingIsSignedAboveTheCeilingWhileTheClockIsOffAndWhenItIsRightAllGoesOn()
      throws Exception {
    var right = new ManualTime();
    registry.clock = right;
    var rig = new Rig(time, registry);
    var unused = rig.acquire("a");
    long published = ceiling(1);
    time.stepWallMs(TEN_YEARS_MS);
    pass(right, LONGEST_MS + AHEAD_MS);
    rig.service.maintain();
    LeaseRefusedException e = refused(Reason.NOT_YET, () -> rig.acquire("b"));
    assertTrue(String.valueOf(e.getMessage()).contains("the clock is off"), e.getMessage());
    assertTrue(e.retryAfterMs() > 0 && e.retryAfterMs() < 5_000);
    assertEquals(published, ceiling(1));
    time.stepWallMs(-TEN_YEARS_MS);
    assertEquals(right.wallNanos() + LEASE_MS * MS, rig.acquire("b").expiry());
    assertEquals(right.wallNanos() + 2 * LEASE_MS * MS, ceiling(1));
  }

  @Test
  void l3_aClockThatIsBehindPublishesNothingEither() throws Exception {
    var right = new ManualTime();
    registry.clock = right;
    var rig = new Rig(time, registry);
    right.advanceMs(501);
    refused(Reason.NOT_YET, () -> rig.acquire("a"));
    assertEquals(0, registry.count("publish"));
  }

  @Test
  void l3_aMachineThatSleptGoesOnWithTheTimeThatItIsNow() throws Exception {
    var right = new ManualTime();
    registry.clock = right;
    var rig = new Rig(time, registry);
    Grant grant = rig.acquire("a");
    time.stepWallMs(3_600_000); // the monotonic clock slept too
    right.advanceMs(3_600_000);
    refused(Reason.HELD, () -> rig.acquire("a")); // by what is left of it on a clock that slept
    assertEquals(right.wallNanos() + LEASE_MS * MS, rig.renew(grant, LeaseReport.NOTHING).expiry());
    assertEquals(right.wallNanos() + LEASE_MS * MS, rig.acquire("b").expiry());
    assertEquals(right.wallNanos(), rig.service.now());
  }

  @Test
  void l3_noInstanceStartsWithAClockThatIsOff() {
    registry.clock = new ManualTime();
    time.stepWallMs(TEN_YEARS_MS);
    assertThrows(
        java.io.IOException.class,
        () ->
            ServiceInstance.builder(new WitnessSigner(Rig.KEY), time)
                .storeInCallers()
                .registry(registry)
                .start());
    assertEquals(0, store.numbers);
  }

  @Test
  void l3_withoutAStoreThereIsAlwaysAQuarantineUnlessToldFresh() throws Exception {
    var rig = new Rig(time, null, false, TableLimits.DEFAULT);
    assertFalse(rig.service.info().ceilings());
    refused(Reason.NOT_YET, () -> rig.acquire("a"));
    time.stepWallMs(10 * LONGEST_MS); // Proves nothing without a store.
    refused(Reason.NOT_YET, () -> rig.acquire("a"));
    time.advanceMs(LONGEST_MS);
    Witness w = only(rig.acquire("a"));
    assertEquals(Ending.UNKNOWN, w.previousEnding());
    assertEquals(new Fence(START + LONGEST_MS * MS, LogSet.ALL), w.fence());
    assertEquals(START / MS, w.instance());
    assertEquals(Fence.NONE, only(new Rig().acquire("a")).fence());
  }

  @Test
  void l3_anInstanceThatSeesALaterOneWhenPublishingStopsForGood() throws Exception {
    var first = new Rig(time, registry);
    Grant grant = first.acquire("a");
    var unused = new Rig(time, new FakeRegistry(store));
    time.advanceMs(4_000);
    Grant stillServes = first.acquire("b");
    assertEquals(1, stillServes.witnesses().size());
    time.advanceMs(4_000);
    first.service.maintain();
    time.advanceMs(4_000);
    first.service.maintain();
    time.advanceMs(4_000);
    first.service.maintain();
    refused(Reason.SUPERSEDED, () -> first.acquire("c"));
    refused(Reason.SUPERSEDED, () -> first.renew(grant, LeaseReport.NOTHING));
    refused(Reason.SUPERSEDED, () -> first.service.release(grant.id(), LeaseReport.NOTHING));
    assertTrue(first.service.info().superseded());
  }

  /** It has nothing to publish, and would answer for ever. */
  @Test
  void l9_anInstanceThatNobodyUsesFindsALaterOneAndSaysWhichItIs() throws Exception {
    var first = new Rig(time, registry);
    var second = new Rig(time, new FakeRegistry(store));
    time.advanceMs(4_999);
    first.service.maintain();
    assertFalse(first.service.info().superseded());
    assertEquals(Optional.empty(), first.service.obstacle());
    time.advanceMs(1);
    first.service.maintain();
    assertEquals("instance 2 at http://web-1:8470", first.service.supersededBy().orElseThrow());
    LeaseRefusedException e = refused(Reason.SUPERSEDED, () -> first.acquire("a"));
    assertEquals(
        "instance 2 at http://web-1:8470 of the lease service has taken over; instance 1 has"
            + " stopped for good",
        e.getMessage());
    assertEquals(e.getMessage(), first.service.obstacle().orElseThrow().getMessage());
    time.advanceMs(5_000);
    second.service.maintain();
    assertEquals(1, second.acquire("a").witnesses().size());
  }

  @Test
  void anInstanceSaysWhyItGrantsNothing() throws Exception {
    var rig = new Rig(time, registry);
    registry.broken = true;
    refused(Reason.NOT_YET, () -> rig.acquire("a"));
    assertEquals(
        "the store can't be used: stale file handle",
        rig.service.obstacle().orElseThrow().getMessage());
    registry.broken = false;
    assertEquals(1, rig.acquire("a").witnesses().size());
    assertEquals(Optional.empty(), rig.service.obstacle());
  }

  @Test
  void l9_anInstanceThatWasPausedLooksForALaterOneBeforeItSigns() throws Exception {
    var first = new Rig(time, registry);
    Grant grant = first.acquire("a");
    time.advanceMs(5_001);
    assertEquals(1, first.renew(grant, LeaseReport.NOTHING).witnesses().size());
    assertEquals(1, registry.count("look"));
    var unused = new Rig(time, new FakeRegistry(store));
    time.advanceMs(5_001);
    refused(Reason.SUPERSEDED, () -> first.renew(grant, LeaseReport.NOTHING));
    time.advanceMs(1);
    refused(Reason.SUPERSEDED, () -> first.acquire("b"));
  }

  @Test
  void l9_maintenanceAfterAPauseDoesNotHideIt() throws Exception {
    var first = new Rig(time, registry);
    var unused = first.acquire("a");
    var second = new Rig(time, new FakeRegistry(store));
    time.advanceMs(6_000);
    first.service.maintain();
    refused(Reason.SUPERSEDED, () -> first.acquire("b"));
    assertEquals(2, second.service.info().instance());
  }

  @Test
  void l9_aLookThatFailsSignsNothing() throws Exception {
    var rig = new Rig(time, registry);
    Grant grant = rig.acquire("a");
    time.advanceMs(5_001);
    registry.broken = true;
    refused(Reason.NOT_YET, () -> rig.renew(grant, LeaseReport.NOTHING));
    registry.broken = false;
    assertEquals(1, rig.renew(grant, LeaseReport.NOTHING).witnesses().size());
  }

  @Test
  void l9_numbersGrowFromInstanceToInstance() {
    for (int i = 1; i <= 3; i++) {
      assertEquals(i, new Rig(time, new FakeRegistry(store)).service.info().instance());
    }
  }

  @Test
  void l6_aWallClockThatStepsBackStopsGrantsUntilItHasCaughtUp() throws Exception {
    var rig = new Rig(time, registry);
    Grant grant = rig.acquire("a");
    long before = rig.service.now();
    time.stepWallMs(-3_000);
    LeaseRefusedException e = refused(Reason.NOT_YET, () -> rig.acquire("b"));
    assertEquals(3_000, e.retryAfterMs());
    refused(Reason.NOT_YET, () -> rig.service.upgrade(grant.id(), LEASE_MS));
    assertEquals(before, rig.service.now());
    assertEquals(3_000, rig.service.info().clockBehindMs());
    Witness renewed = only(rig.renew(grant, LeaseReport.NOTHING));
    assertEquals(grant.expiry(), renewed.expiry(), "by a time that stands still");
    assertTrue(renewed.issuedAt() >= before);
    time.advanceMs(2_999);
    refused(Reason.NOT_YET, () -> rig.acquire("b"));
    time.advanceMs(1);
    assertEquals(1, rig.acquire("b").witnesses().size());
  }

  @Test
  void l6_timesBroughtOutOfOrderDoNotTurnATableBack() throws Exception {
    var table =
        new MemoryLeases(
            new TableLimits(10, Long.MAX_VALUE, 0, 0, 0, 0),
            1,
            Inheritance.origin(Ending.NONE, Fence.NONE),
            Fence.NONE,
            0,
            Optional.empty());
    var rig = new Rig();
    var a = rig.request("a");
    long expiry = table.acquire(a, at(START), Long.MAX_VALUE).get(0).expiry();
    assertEquals(
        expiry, table.acquire(rig.request("b"), at(expiry), Long.MAX_VALUE).get(0).issuedAt());
    refused(
        Reason.NOT_HELD,
        () ->
            table.renew(
                new Operation.Renew(a.id(), LEASE_MS, LogSet.NONE, LeaseReport.NOTHING),
                at(expiry - 1),
                Long.MAX_VALUE));
    assertEquals(
        expiry, table.acquire(rig.request("c"), at(START), Long.MAX_VALUE).get(0).issuedAt());
  }

  /** All threads of a server would wait for the store, and nobody could give anything back. */
  @Test
  void l3_aStoreThatHangsHoldsUpOneRequest() throws Exception {
    var rig = new Rig(time, registry, null);
    FutureTask<Grant> first = hanging(rig);
    time.advanceNanos(Publisher.HANGS_AFTER);
    LeaseRefusedException refusal = notGranted(started(() -> rig.acquire("b")));
    assertEquals(Reason.NOT_YET, refusal.reason());
    assertTrue(refusal.retryAfterMs() > 0);
    answer.countDown();
    rig.service.release(first.get().id(), LeaseReport.NOTHING);
    assertEquals(1, rig.acquire("a").witnesses().size());
  }

  /** Whoever asked has gone long ago, and would be in everybody's way. */
  @Test
  void f4_nothingIsGrantedToARequestThatTheStoreHeldUpForLong() throws Exception {
    var rig = new Rig(time, registry, null);
    FutureTask<Grant> first = hanging(rig);
    time.advanceMs(60_001);
    answer.countDown();
    assertEquals(Reason.NOT_YET, notGranted(first).reason());
    assertEquals(Ending.NONE, only(rig.acquire("a")).previousEnding());
  }

  private final CountDownLatch answer = new CountDownLatch(1);

  /** A request for a lease that waits for the store's answer. */
  private FutureTask<Grant> hanging(Rig rig) throws InterruptedException {
    var publishing = new CountDownLatch(1);
    registry.whileChecking =
        () -> {
          publishing.countDown();
          try {
            answer.await();
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
        };
    FutureTask<Grant> first = started(() -> rig.acquire("a"));
    publishing.await();
    return first;
  }

  private static LeaseRefusedException notGranted(FutureTask<Grant> asked) {
    return assertInstanceOf(
        LeaseRefusedException.class,
        assertThrows(ExecutionException.class, () -> asked.get(10, MINUTES)).getCause());
  }

  private static FutureTask<Grant> started(Callable<Grant> request) {
    var task = new FutureTask<>(request);
    var thread = new Thread(task, "asking");
    thread.setDaemon(true);
    thread.start();
    return task;
  }

  private long ceiling(long instance) {
    return store.ceilings.getOrDefault(instance, Long.MIN_VALUE);
  }

  private static dev.cinch.lease.Operation.Acquire longest(Rig rig, String name) {
    var r = rig.request(name);
    return new dev.cinch.lease.Operation.Acquire(
        r.id(), r.names(), r.holder(), LONGEST_MS, r.logs(), false);
  }
}
