package dev.cinch.lease.hold;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.instance.Rig;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Rule L5, and renewing. */
final class HeldLeaseTest {
  private static final long MS = 1_000_000;
  private static final HoldSettings SETTINGS = new HoldSettings(Rig.LEASE_MS, 10, 200, 500);

  private final Rig rig = new Rig();
  private final Slow service = new Slow();
  private final List<String> losses = new ArrayList<>();
  private LeaseReport report = LeaseReport.NOTHING;

  @Test
  void l5_theDeadlineCountsFromBeforeTheRequestWasSent() throws Exception {
    service.delayMs = 3_000;
    long before = rig.time.monotonicNanos();
    HeldLease lease = hold();
    assertEquals(before + 9_700 * MS, lease.deadline());
    assertEquals(6_700 * MS, lease.remainingNanos());
    service.delayMs = 2_000;
    long renewal = rig.time.monotonicNanos();
    var unused = lease.renew(LogSet.NONE);
    assertEquals(renewal + 9_700 * MS, lease.deadline());
  }

  @Test
  void l5_theWallClockDoesNotMoveTheDeadline() throws Exception {
    HeldLease lease = hold();
    rig.time.stepWallMs(-100_000);
    assertEquals(9_700 * MS, lease.remainingNanos());
    rig.time.advanceMs(9_699);
    assertTrue(lease.remainingNanos() > 0);
    rig.time.advanceMs(1);
    assertEquals(0, lease.remainingNanos());
    rig.time.stepWallMs(-100_000);
    assertEquals(0, lease.remainingNanos());
  }

  @Test
  void l5_itEndsBeforeTheServiceLetsAnyoneElseIn() throws Exception {
    HeldLease lease = hold();
    while (lease.remainingNanos() > 0) {
      assertThrows(LeaseRefusedException.class, () -> rig.acquire("a"));
      rig.time.advanceMs(100);
    }
  }

  /** Somebody that has seen the id used it for them at a server that has not met this grant. */
  @Test
  void l5_anAnswerOfOtherLeasesProlongsNothing() throws Exception {
    HeldLease lease = hold();
    long deadline = lease.deadline();
    service.others = new Grant(lease.id(), rig.acquire("b").witnesses());
    rig.time.advanceMs(1_000);
    var e = assertThrows(LeaseUnavailableException.class, () -> lease.renew(LogSet.NONE));
    assertEquals("the lease service answers of other leases: [b]", e.getMessage());
    assertThrows(LeaseUnavailableException.class, lease::upgrade);
    assertEquals(deadline, lease.deadline());
    service.others = null;
    assertTrue(lease.renew(LogSet.NONE).expiry() > 0);
    assertTrue(lease.deadline() > deadline);
  }

  @Test
  void itIsRenewedAboutEveryThirdAndStaysHeld() throws Exception {
    HeldLease lease = hold();
    for (int i = 0; i < 50; i++) {
      long next = lease.doWork(rig.time.monotonicNanos());
      rig.time.advanceNanos(next - rig.time.monotonicNanos());
      assertTrue(lease.remainingNanos() >= 6_000 * MS, "" + lease.remainingNanos());
    }
    assertEquals(49, service.renewals, 1);
    assertEquals(HeldLease.State.HELD, lease.state());
    assertTrue(service.spread.stream().distinct().count() > 10, "no jitter: " + service.spread);
  }

  @Test
  void reportsAreAskedForBeforeEachRenewal() throws Exception {
    HeldLease lease = hold();
    report = new LeaseReport(OptionalLong.of(rig.time.wallNanos() + 1), false, List.of());
    rig.time.advanceMs(4_000);
    assertTrue(lease.doWork(rig.time.monotonicNanos()) < Long.MAX_VALUE);
    lease.release(LeaseReport.NOTHING);
    assertEquals(
        report.watermark().getAsLong(),
        rig.acquire("a").witnesses().get(0).witness().watermark().timestamp());
  }

  @Test
  void outagesShorterThanTheLeaseAreSurvived() throws Exception {
    HeldLease lease = hold();
    service.down = true;
    long end = rig.time.monotonicNanos() + 8_000 * MS;
    while (rig.time.monotonicNanos() < end) {
      long next = lease.doWork(rig.time.monotonicNanos());
      rig.time.advanceNanos(next - rig.time.monotonicNanos());
    }
    assertTrue(service.refused >= 8, "tried " + service.refused + " times");
    service.down = false;
    assertTrue(lease.doWork(rig.time.monotonicNanos()) < Long.MAX_VALUE);
    assertTrue(lease.remainingNanos() > 9_000 * MS);
    assertEquals(List.of(), losses);
  }

  @Test
  void anOutageLongerThanTheLeaseIsALossToldOnce() throws Exception {
    HeldLease lease = hold();
    service.down = true;
    long next = 0;
    while (next != Long.MAX_VALUE) {
      next = lease.doWork(rig.time.monotonicNanos());
      rig.time.advanceMs(100);
    }
    assertEquals(HeldLease.State.LOST, lease.state());
    assertEquals(List.of("it was not renewed in time"), losses);
    service.down = false;
    assertThrows(LeaseRefusedException.class, () -> lease.renew(LogSet.NONE));
    assertEquals(Long.MAX_VALUE, lease.doWork(rig.time.monotonicNanos()));
    assertEquals(1, losses.size());
  }

  @Test
  void aPauseLongerThanTheLeaseIsALossEvenIfTheServiceWouldRenew() throws Exception {
    HeldLease lease = hold();
    rig.time.advanceMs(9_700);
    assertEquals(Long.MAX_VALUE, lease.doWork(rig.time.monotonicNanos()));
    assertEquals(HeldLease.State.LOST, lease.state());
    assertEquals(0, service.renewals);
  }

  @Test
  void aBrokenTentativeLeaseIsLostOnUpgrade() throws Exception {
    Operation.Acquire r = rig.request("a");
    var tentative =
        new Operation.Acquire(r.id(), r.names(), r.holder(), r.durationMs(), r.logs(), true);
    HeldLease lease = hold(tentative);
    var unused = rig.acquire("a");
    assertThrows(LeaseRefusedException.class, lease::upgrade);
    assertEquals(HeldLease.State.LOST, lease.state());
    assertEquals(1, losses.size());
  }

  @Test
  void anUpgradeThatHasToWaitPutsOffNoRenewal() throws Exception {
    Operation.Acquire r = rig.request("a");
    HeldLease lease =
        hold(new Operation.Acquire(r.id(), r.names(), r.holder(), r.durationMs(), r.logs(), true));
    rig.time.stepWallMs(-60_000); // by which an upgrade is put off
    LeaseRefusedException e = assertThrows(LeaseRefusedException.class, lease::upgrade);
    assertEquals(60_000, e.retryAfterMs());
    staysHeldFor(lease, 30_000);
  }

  @Test
  void aRenewalThatIsPutOffForLongerThanTheLeaseIsTriedBefore() throws Exception {
    HeldLease lease = hold();
    service.putOffMs = 60_000;
    rig.time.advanceMs(4_000);
    long next = lease.doWork(rig.time.monotonicNanos());
    assertTrue(next < lease.deadline(), "" + (lease.deadline() - next));
    service.putOffMs = 0;
    staysHeldFor(lease, 30_000);
  }

  @Test
  void aRenewalThatIsRefusedForItsLogsPutsOffNoOrdinaryOne() throws Exception {
    HeldLease lease = hold();
    var tooMany = new ArrayList<Id>();
    for (int i = 0; i < 1_001; i++) {
      tooMany.add(new Id(9, i));
    }
    for (int i = 0; i < 200; i++) {
      var refused =
          assertThrows(LeaseRefusedException.class, () -> lease.renew(LogSet.of(tooMany)));
      assertEquals(LeaseRefusedException.Reason.INVALID, refused.reason(), refused.getMessage());
      long unused = lease.doWork(rig.time.monotonicNanos());
      rig.time.advanceMs(200);
    }
    assertEquals(HeldLease.State.HELD, lease.state());
  }

  @Test
  void aRenewalWithLogsThatGetsNoAnswerPutsOffNoOrdinaryOne() throws Exception {
    HeldLease lease = hold();
    LogSet logs = LogSet.of(List.of(new Id(5, 5)));
    for (int i = 0; i < 200; i++) {
      service.down = true;
      assertThrows(LeaseUnavailableException.class, () -> lease.renew(logs));
      service.down = false;
      long unused = lease.doWork(rig.time.monotonicNanos());
      rig.time.advanceMs(200);
    }
    assertEquals(HeldLease.State.HELD, lease.state());
  }

  private void staysHeldFor(HeldLease lease, long ms) {
    long end = rig.time.monotonicNanos() + ms * MS;
    while (rig.time.monotonicNanos() < end) {
      long next = lease.doWork(rig.time.monotonicNanos());
      assertEquals(HeldLease.State.HELD, lease.state(), String.valueOf(lease.lostWhy()));
      rig.time.advanceNanos(next - rig.time.monotonicNanos());
    }
  }

  @Test
  void logsAreAddedByARenewalAtOnce() throws Exception {
    HeldLease lease = hold();
    Id log = new Id(5, 5);
    Grant renewed = lease.renew(LogSet.of(List.of(log)));
    assertEquals(renewed.witnesses(), lease.witnesses());
    assertTrue(lease.witnesses().get(0).witness().logs().contains(log));
  }

  @Test
  void whoRenewsALeaseThatWasLostIsToldWhy() throws Exception {
    HeldLease lease = hold();
    rig.time.advanceMs(Rig.LEASE_MS);
    assertEquals(Long.MAX_VALUE, lease.doWork(rig.time.monotonicNanos()));
    var e = assertThrows(LeaseRefusedException.class, () -> lease.renew(LogSet.NONE));
    assertEquals("the leases are no longer held here: it was not renewed in time", e.getMessage());
  }

  @Test
  void aReleasedLeaseIsNotRenewedAndNotSafe() throws Exception {
    HeldLease lease = hold();
    service.down = true;
    assertThrows(LeaseUnavailableException.class, () -> lease.release(LeaseReport.NOTHING));
    assertEquals(0, lease.remainingNanos());
    service.down = false;
    lease.release(LeaseReport.NOTHING);
    lease.release(LeaseReport.NOTHING);
    assertEquals(HeldLease.State.CLOSED, lease.state());
    assertEquals(Long.MAX_VALUE, lease.doWork(rig.time.monotonicNanos()));
    assertEquals(1, rig.acquire("a").witnesses().size());
    assertNull(lease.lostWhy());
  }

  @Test
  void theKeeperRenewsFromItsOwnThread() throws Exception {
    HeldLease lease = hold();
    rig.time.advanceMs(5_000);
    service.renewed = new CountDownLatch(1);
    try (var keeper = new LeaseKeeper(rig.time)) {
      keeper.keep(lease);
      assertTrue(service.renewed.await(10, TimeUnit.MINUTES));
    }
    assertFalse(service.renewalThread.equals(Thread.currentThread().getName()));
  }

  @Test
  void aSteppedKeeperRenewsOnItsCallersThreadAndSaysWhenToComeBack() throws Exception {
    HeldLease lease = hold();
    LeaseKeeper keeper = LeaseKeeper.stepped(rig.time);
    assertEquals(Long.MAX_VALUE, keeper.doWork());
    keeper.keep(lease);
    for (int i = 0; i < 10; i++) {
      rig.time.advanceNanos(keeper.doWork());
      assertEquals(HeldLease.State.HELD, lease.state());
    }
    assertEquals(9, service.renewals, 1);
    assertEquals(Thread.currentThread().getName(), service.renewalThread);
    lease.close();
    assertEquals(Long.MAX_VALUE, keeper.doWork());
  }

  /** It may close what another thread uses that waits for a renewal at this moment. */
  @Test
  void theListenerIsToldWhileNobodyIsKeptWaiting() throws Exception {
    var told = new AtomicInteger();
    var lost = new AtomicReference<HeldLease>();
    HeldLease lease =
        hold(
            (names, why) -> {
              var other =
                  new Thread(
                      () -> {
                        assertThrows(
                            LeaseRefusedException.class, () -> lost.get().renew(LogSet.NONE));
                        told.incrementAndGet();
                      });
              other.setDaemon(true);
              other.start();
              try {
                other.join();
              } catch (InterruptedException e) {
                throw new IllegalStateException(e);
              }
            });
    lost.set(lease);
    rig.service.release(lease.id(), LeaseReport.NOTHING);
    assertThrows(LeaseRefusedException.class, () -> lease.renew(LogSet.NONE));
    assertEquals(1, told.get());
  }

  /** Once half of the time is over without a renewal; anew after one. */
  @Test
  void theListenerIsToldOfARiskInTimeAndOnce() throws Exception {
    var told = new ArrayList<String>();
    HeldLease lease =
        hold(
            new LeaseListener() {
              @Override
              public void atRisk(List<LeaseName> names, Duration left) {
                long half = SETTINGS.safeNanos() / 2;
                assertTrue(left.toNanos() <= half && left.toNanos() > half * 9 / 10, "" + left);
                told.add("risk " + names);
              }

              @Override
              public void lost(List<LeaseName> names, String why) {
                told.add("lost " + names + ": " + why);
              }
            });
    LeaseKeeper keeper = LeaseKeeper.stepped(rig.time);
    keeper.keep(lease);
    for (int i = 0; i < 5; i++) {
      rig.time.advanceNanos(keeper.doWork());
    }
    assertEquals(List.of(), told);
    service.down = true;
    for (long left = lease.leftNanos(); left > SETTINGS.safeNanos() / 3; left = lease.leftNanos()) {
      rig.time.advanceNanos(Math.min(keeper.doWork(), 100_000_000));
    }
    assertEquals(List.of("risk [a]"), told);
    service.down = false;
    assertEquals(HeldLease.State.HELD, lease.state());
    lease.renew(LogSet.NONE);
    service.down = true;
    while (lease.state() == HeldLease.State.HELD) {
      rig.time.advanceNanos(Math.min(keeper.doWork(), 100_000_000));
    }
    assertEquals(List.of("risk [a]", "risk [a]", "lost [a]: it was not renewed in time"), told);
  }

  @Test
  void settingsOutOfRangeAreRefused() {
    assertThrows(IllegalArgumentException.class, () -> new HoldSettings(0, 0, 0, 1));
    assertThrows(IllegalArgumentException.class, () -> new HoldSettings(10, 501, 0, 1));
    assertThrows(IllegalArgumentException.class, () -> new HoldSettings(10, 0, 10, 1));
    assertTrue(HoldSettings.of(1).safeNanos() > 0);
  }

  private HeldLease hold() throws LeaseRefusedException, LeaseUnavailableException {
    return hold(rig.request("a"));
  }

  private HeldLease hold(Operation.Acquire request)
      throws LeaseRefusedException, LeaseUnavailableException {
    return hold(request, (lease, why) -> losses.add(why));
  }

  private HeldLease hold(LeaseListener listener)
      throws LeaseRefusedException, LeaseUnavailableException {
    return hold(rig.request("a"), listener);
  }

  private HeldLease hold(Operation.Acquire request, LeaseListener listener)
      throws LeaseRefusedException, LeaseUnavailableException {
    return HeldLease.acquire(
        service, rig.time, SETTINGS, request, () -> report, listener, new Random(3));
  }

  /** The rig's service behind a network that can be slow or down. */
  private final class Slow extends ForwardingLeases {
    long delayMs;
    long putOffMs;
    boolean down;
    int renewals;
    int refused;
    @Nullable Grant others;
    String renewalThread = "";
    CountDownLatch renewed = new CountDownLatch(1);
    final List<Long> spread = new ArrayList<>();
    private long last = rig.time.monotonicNanos();

    Slow() {
      super(rig.service);
    }

    private void network() throws LeaseUnavailableException {
      rig.time.advanceMs(delayMs);
      if (down) {
        refused++;
        throw new LeaseUnavailableException("down", null);
      }
    }

    @Override
    public Outcome carryOut(Operation operation) throws LeaseUnavailableException {
      network();
      if (others != null) {
        return new Outcome.Granted(others);
      }
      if (!(operation instanceof Operation.Renew)) {
        return super.carryOut(operation);
      }
      if (putOffMs > 0) {
        return new Outcome.Refused(
            new LeaseRefusedException(LeaseRefusedException.Reason.NOT_YET, "not yet", putOffMs));
      }
      renewals++;
      spread.add((rig.time.monotonicNanos() - last) / MS);
      last = rig.time.monotonicNanos();
      renewalThread = Thread.currentThread().getName();
      Outcome outcome = super.carryOut(operation);
      renewed.countDown();
      return outcome;
    }
  }
}
