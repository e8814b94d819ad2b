package dev.cinch.lease.instance;

import static dev.cinch.lease.instance.Rig.LEASE_MS;
import static dev.cinch.lease.instance.Rig.LOG_A;
import static dev.cinch.lease.instance.Rig.LOG_B;
import static dev.cinch.lease.instance.Rig.fenced;
import static dev.cinch.lease.instance.Rig.only;
import static dev.cinch.lease.instance.Rig.wrote;
import static dev.cinch.lease.time.ManualTime.START;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Witness;
import dev.cinch.lease.register.Backends;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** Rule L8. */
@ParameterizedClass
@MethodSource("dev.cinch.lease.register.Backends#here")
final class FenceRulesTest {
  private final Rig rig;

  FenceRulesTest(Backends backend) {
    rig = backend.rig();
  }

  @Test
  void l8_anExpiredLeaseMustBeFencedUpToItsHighestExpiryForAllItsLogs() throws Exception {
    Grant grant = rig.acquire("a");
    rig.time.advanceMs(1_000);
    Grant renewed =
        rig.service.renew(grant.id(), LEASE_MS, LogSet.of(List.of(LOG_B)), LeaseReport.NOTHING);
    assertEquals(LogSet.of(List.of(LOG_A, LOG_B)), only(renewed).logs());
    rig.time.advanceMs(LEASE_MS + 77);
    Witness next = only(rig.acquire("a"));
    assertEquals(Ending.BROKEN, next.previousEnding());
    assertEquals(rig.time.wallNanos(), next.previousEndedAt());
    assertEquals(new Fence(renewed.expiry(), LogSet.of(List.of(LOG_A, LOG_B))), next.fence());
  }

  @Test
  void l8_theFenceIsCarriedAcrossReleasesThatDoNotStateIt() throws Exception {
    Fence fence = brokenOnce();
    for (int i = 0; i < 3; i++) {
      Grant grant = rig.acquire("a");
      assertEquals(fence, only(grant).fence());
      rig.service.release(grant.id(), LeaseReport.NOTHING);
    }
    rig.service.release(rig.acquire("a").id(), wrote(fence.upTo() + 1));
    assertEquals(fence, only(rig.acquire("a")).fence());
  }

  @Test
  void l8_theFenceIsCarriedAcrossFurtherExpiries() throws Exception {
    brokenOnce();
    Grant second =
        rig.service.acquire(
            new dev.cinch.lease.Operation.Acquire(
                new dev.cinch.lease.Id(1, 1),
                Rig.names("a"),
                "b",
                LEASE_MS,
                LogSet.of(List.of(LOG_B)),
                false));
    rig.time.advanceMs(LEASE_MS);
    assertEquals(
        new Fence(second.expiry(), LogSet.of(List.of(LOG_A, LOG_B))),
        only(rig.acquire("a")).fence());
  }

  @Test
  void l8_theFenceIsCarriedPastATentativeLease() throws Exception {
    Fence fence = brokenOnce();
    assertEquals(fence, only(rig.service.acquire(rig.tentative("a"))).fence());
    assertEquals(fence, only(rig.acquire("a")).fence());
  }

  @Test
  void l8_aRenewalThatStatesItEndsTheFenceAndKeepsTheLowerBound() throws Exception {
    Fence fence = brokenOnce();
    Grant grant = rig.acquire("a");
    Witness renewed = only(rig.renew(grant, fenced()));
    assertEquals(Fence.NONE, renewed.fence());
    assertEquals(fence.upTo(), renewed.lowerBound());
    Grant again = rig.renew(grant, fenced());
    assertEquals(fence.upTo(), only(again).lowerBound());
    rig.service.release(grant.id(), LeaseReport.NOTHING);
    Witness next = only(rig.acquire("a"));
    assertEquals(Fence.NONE, next.fence());
    assertEquals(fence.upTo(), next.watermark().timestamp());
  }

  @Test
  void l8_aReleaseThatStatesItEndsTheFenceAndKeepsTheLowerBound() throws Exception {
    Fence fence = brokenOnce();
    rig.service.release(rig.acquire("a").id(), fenced());
    Witness next = only(rig.acquire("a"));
    assertEquals(Fence.NONE, next.fence());
    assertEquals(fence.upTo(), next.lowerBound());
    assertEquals(Ending.RELEASED, next.previousEnding());
  }

  @Test
  void l8_afterFencingAndWritingTheWatermarkOfTheWritesIsInherited() throws Exception {
    Fence fence = brokenOnce();
    Grant grant = rig.acquire("a");
    rig.service.release(
        grant.id(), new LeaseReport(OptionalLong.of(fence.upTo() + 3), true, List.of()));
    Witness next = only(rig.acquire("a"));
    assertEquals(fence.upTo() + 3, next.lowerBound());
    assertEquals(Fence.NONE, next.fence());
  }

  @Test
  void l8_whatWasFencedIsFencedAgainWhenThatHolderExpires() throws Exception {
    brokenOnce();
    Grant grant = rig.acquire("a");
    var unused = rig.renew(grant, fenced());
    rig.time.advanceMs(LEASE_MS);
    assertEquals(grant.expiry(), only(rig.acquire("a")).fence().upTo());
  }

  /** Leaves "a" free, after a lease that expired. */
  private Fence brokenOnce() throws Exception {
    Grant first = rig.acquire("a");
    assertEquals(START + LEASE_MS * Rig.MS, first.expiry());
    rig.time.advanceMs(LEASE_MS);
    return new Fence(first.expiry(), LogSet.of(List.of(LOG_A)));
  }
}
