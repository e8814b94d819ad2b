package dev.cinch.lease.instance;

import static dev.cinch.lease.instance.Rig.LEASE_MS;
import static dev.cinch.lease.instance.Rig.MS;
import static dev.cinch.lease.instance.Rig.only;
import static dev.cinch.lease.instance.Rig.refused;
import static dev.cinch.lease.instance.Rig.wrote;
import static dev.cinch.lease.time.ManualTime.START;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.Watermark;
import dev.cinch.lease.Witness;
import dev.cinch.lease.register.Backends;
import dev.cinch.lease.rules.Moment;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.time.TimeBounds;
import dev.cinch.lease.witness.WitnessSigner;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** Rule L2. */
@ParameterizedClass
@MethodSource("dev.cinch.lease.register.Backends#here")
final class WatermarkRulesTest {
  private final Rig rig;

  WatermarkRulesTest(Backends backend) {
    rig = backend.rig();
    service = rig.service;
  }

  @Test
  void l2_theNextHolderInheritsTheWatermarkWithItsSignedTime() throws Exception {
    Grant grant = rig.acquire("a");
    rig.time.advanceMs(50);
    rig.service.release(grant.id(), wrote(START + 20 * MS));
    rig.time.advanceMs(50);
    assertEquals(
        new Watermark(START + 20 * MS, START + 50 * MS, START + 1_050 * MS),
        only(rig.acquire("a")).watermark());
  }

  @Test
  void l2_aWatermarkNotAboveTheLowerBoundIsRefused() throws Exception {
    rig.service.release(rig.acquire("a").id(), wrote(START + 5));
    Grant next = rig.acquire("a");
    refused(Reason.WATERMARK, () -> rig.service.release(next.id(), wrote(START + 4)));
    refused(Reason.WATERMARK, () -> rig.service.release(next.id(), wrote(START + 5)));
    refused(Reason.WATERMARK, () -> rig.renew(next, wrote(START + 5)));
    rig.service.release(next.id(), wrote(START + 6));
    assertEquals(START + 6, only(rig.acquire("a")).watermark().timestamp());
  }

  @Test
  void l2_theFenceIsPartOfTheLowerBound() throws Exception {
    long expiry = rig.acquire("a").expiry();
    rig.time.advanceMs(LEASE_MS);
    Grant next = rig.acquire("a");
    refused(Reason.WATERMARK, () -> rig.renew(next, wrote(expiry)));
    assertEquals(expiry, only(rig.renew(next, wrote(expiry + 1))).lowerBound());
  }

  @Test
  void l2_aWatermarkAtOrAboveTheExpiryIsRefused() throws Exception {
    Grant grant = rig.acquire("a");
    rig.time.advanceMs(LEASE_MS - 1);
    refused(Reason.WATERMARK, () -> rig.service.release(grant.id(), wrote(grant.expiry())));
    refused(Reason.WATERMARK, () -> rig.renew(grant, wrote(grant.expiry())));
    rig.service.release(grant.id(), wrote(grant.expiry() - 1));
  }

  @Test
  void l2_aWatermarkTooFarAheadOfSignedTimeIsRefused() throws Exception {
    Grant grant = rig.acquire("a");
    refused(Reason.WATERMARK, () -> rig.renew(grant, wrote(START + 1_000 * MS + 1)));
    refused(Reason.WATERMARK, () -> rig.renew(grant, wrote(Long.MAX_VALUE)));
    refused(Reason.WATERMARK, () -> rig.renew(grant, wrote(Long.MIN_VALUE)));
    Grant unused = rig.renew(grant, wrote(START + 1_000 * MS));
    assertEquals(grant.expiry(), unused.expiry());
  }

  /** The service's clock is half a minute ahead, and its sources know that. */
  @Test
  void l2_aWatermarkTooFarAheadOfTheLatestThatItCanBeIsRefused() throws Exception {
    long latest = START - 30_000 * MS;
    var bound = new TimeBound(latest - 5 * MS, latest, TimeBound.Kind.MEASURED);
    Grant grant = sourced(TimeBound.around(START, MS, TimeBound.Kind.MEASURED));
    known = bound;
    LeaseReport far = wrote(latest + 1_000 * MS + 1);
    var e =
        refused(Reason.WATERMARK, () -> service.renew(grant.id(), LEASE_MS, LogSet.NONE, far).id());
    assertEquals(
        "the watermark "
            + (latest + 1_000 * MS + 1)
            + " is refused: it is 1000 ms ahead of the latest that it can be by the service's"
            + " time sources, more than 1000",
        e.getMessage());
    refused(Reason.WATERMARK, () -> service.release(grant.id(), far));
    refused(Reason.WATERMARK, () -> service.release(grant.id(), wrote(Long.MAX_VALUE)));
    List<Outcome> outcomes = service.carryOut(List.of(new Operation.Release(grant.id(), far)));
    var refusal = (Outcome.Refused) outcomes.get(0);
    assertEquals(Reason.WATERMARK, refusal.refusal().reason());
    service.release(grant.id(), wrote(latest + 1_000 * MS));
    assertEquals(Optional.of(bound), service.info().time());
  }

  private TimeBound known = TimeBound.around(START, MS, TimeBound.Kind.ASSUMED);
  private Optional<String> doubt = Optional.empty();
  private ServiceInstance service;

  /** A grant of a service whose sources say what is known. */
  private Grant sourced(TimeBound first) throws Exception {
    known = first;
    TimeBounds bounds =
        new TimeBounds() {
          @Override
          public TimeBound at(long wall, long monotonic) {
            return known;
          }

          @Override
          public Optional<String> doubt() {
            return doubt;
          }
        };
    service =
        ServiceInstance.builder(new WitnessSigner(Rig.KEY), rig.time)
            .fresh(true)
            .bounds(bounds)
            .start();
    return service.acquire(rig.request("a"));
  }

  @Test
  void l2_witnessesCarryTheBoundAndThatOfTheirWatermark() throws Exception {
    var first = new TimeBound(START - 7 * MS, START + 3 * MS, TimeBound.Kind.MEASURED);
    Grant grant = sourced(first);
    assertEquals(first, only(grant).time());
    known = new TimeBound(START - 5 * MS, START + 9 * MS, TimeBound.Kind.MEASURED);
    Grant renewed = service.renew(grant.id(), LEASE_MS, LogSet.NONE, wrote(START + 5));
    assertEquals(known, only(renewed).time());
    service.release(grant.id(), LeaseReport.NOTHING);
    var told = new Watermark(START + 5, START, START + 9 * MS);
    known = new TimeBound(START - 1_000 * MS, START + 1_000 * MS, TimeBound.Kind.ASSUMED);
    Witness next = only(service.acquire(rig.request("a")));
    assertEquals(told, next.watermark());
    assertEquals(known, next.time());
    assertEquals(next, service.show(next.name()).orElseThrow().witness());
  }

  /** A fence that is done with stands in the watermark, with the bound of that moment. */
  @Test
  void l2_aFenceBecomesAWatermarkWithTheBoundOfItsReport() throws Exception {
    for (boolean release : new boolean[] {false, true}) {
      var own = new Rig();
      long expiry = own.acquire("a").expiry();
      own.time.advanceMs(LEASE_MS);
      Grant next = own.acquire("a");
      own.time.advanceMs(5);
      var fenced = new LeaseReport(OptionalLong.empty(), true, List.of());
      long now = START + (LEASE_MS + 5) * MS;
      if (release) {
        own.service.release(next.id(), fenced);
      } else {
        assertEquals(expiry, only(own.renew(next, fenced)).watermark().timestamp());
        own.service.release(next.id(), LeaseReport.NOTHING);
      }
      own.time.advanceMs(5);
      assertEquals(
          new Watermark(expiry, now, now + 1_000 * MS), only(own.acquire("a")).watermark());
    }
  }

  /** No horizon has passed what is to come. */
  @Test
  void l2_aFenceThatLiesAheadCanNotBeDoneWith() throws Exception {
    long expiry = rig.acquire("a").expiry();
    rig.time.advanceMs(LEASE_MS);
    Grant grant = sourced(TimeBound.around(expiry, MS, TimeBound.Kind.MEASURED));
    service.release(grant.id(), LeaseReport.NOTHING);
    Grant first = service.acquire(rig.request("b"));
    rig.time.advanceMs(LEASE_MS);
    known = TimeBound.around(first.expiry(), MS, TimeBound.Kind.MEASURED);
    Grant second = service.acquire(rig.request("b"));
    long fence = only(second).fence().upTo();
    known = TimeBound.around(fence - 1_002 * MS, MS, TimeBound.Kind.MEASURED);
    var fenced = new LeaseReport(OptionalLong.empty(), true, List.of());
    var e =
        refused(
            Reason.WATERMARK, () -> service.renew(second.id(), LEASE_MS, LogSet.NONE, fenced).id());
    assertEquals(
        "the fence of b can't be done with: it is 1001 ms ahead of the latest that it can be",
        e.getMessage());
    refused(Reason.WATERMARK, () -> service.release(second.id(), fenced));
    known = TimeBound.around(fence - 1_001 * MS, MS, TimeBound.Kind.MEASURED);
    service.release(second.id(), fenced);
  }

  @Test
  void l2_nothingIsGrantedWhileTheSourcesContradictEachOther() throws Exception {
    Grant grant = sourced(TimeBound.around(START, MS, TimeBound.Kind.ASSUMED));
    doubt = Optional.of("no majority among a, this machine's clock");
    var e = refused(Reason.NOT_YET, () -> service.acquire(rig.request("b")).id());
    assertEquals(
        "the service grants nothing: its time sources contradict each other:"
            + " no majority among a, this machine's clock",
        e.getMessage());
    assertEquals(e.getMessage(), service.obstacle().orElseThrow().getMessage());
    // Who holds leases keeps them.
    Grant renewed = service.renew(grant.id(), LEASE_MS, LogSet.NONE, wrote(START + 5));
    assertEquals(known, only(renewed).time());
    service.release(grant.id(), LeaseReport.NOTHING);
    doubt = Optional.empty();
    assertEquals(1, service.acquire(rig.request("b")).witnesses().size());
  }

  @Test
  void l2_nothingIsGrantedByABoundThatIsTooWide() throws Exception {
    Grant grant = sourced(TimeBound.around(START, BoundRule.WIDEST, TimeBound.Kind.MEASURED));
    known = TimeBound.around(START, BoundRule.WIDEST + 1, TimeBound.Kind.MEASURED);
    var e = refused(Reason.NOT_YET, () -> service.acquire(rig.request("b")).id());
    assertEquals(
        "the service grants nothing: it knows the time to ±10 s, measured only, and needs ±10 s",
        e.getMessage());
    assertEquals(
        1, service.renew(grant.id(), LEASE_MS, LogSet.NONE, wrote(START)).witnesses().size());
    known = Moment.UNKNOWN;
    refused(Reason.NOT_YET, () -> service.acquire(rig.request("b")).id());
    known = TimeBound.around(START, MS, TimeBound.Kind.MEASURED);
    assertEquals(Optional.empty(), service.obstacle());
  }

  @Test
  void l2_nothingIsGrantedByAClockThatIsAheadOfItsSources() throws Exception {
    Grant grant = sourced(TimeBound.around(START, MS, TimeBound.Kind.MEASURED));
    known = TimeBound.around(START - 1_002 * MS, MS, TimeBound.Kind.MEASURED);
    var e = refused(Reason.NOT_YET, () -> service.acquire(rig.request("b")).id());
    assertEquals(
        "the service grants nothing: its clock is 1001 ms ahead of the latest that it can be by its"
            + " time sources",
        e.getMessage());
    known = TimeBound.around(START - 1_001 * MS, MS, TimeBound.Kind.MEASURED);
    assertEquals(1, service.acquire(rig.request("b")).witnesses().size());
    service.release(grant.id(), LeaseReport.NOTHING);
  }

  /** Its time stands still then, and holders whose clocks are right may go on. */
  @Test
  void l2_aServiceWhoseClockWasSetBackTakesWatermarksByItsSignedTime() throws Exception {
    Grant grant = rig.acquire("a");
    rig.time.stepWallMs(-60_000);
    assertEquals(TimeBound.Kind.ASSUMED, rig.service.info().time().orElseThrow().kind());
    Grant renewed = rig.renew(grant, wrote(START + 1));
    assertEquals(grant.expiry(), renewed.expiry());
    rig.service.release(grant.id(), wrote(START + 1_000 * MS));
  }

  @Test
  void withoutSourcesTheBoundIsAssumedToBeASecond() {
    TimeBound bound = rig.service.info().time().orElseThrow();
    assertEquals(TimeBound.around(START, 1_000 * MS, TimeBound.Kind.ASSUMED), bound);
  }

  @Test
  void l2_aWatermarkMayBeAsFarAheadAsTheClocksOfTheStoreAllow() throws Exception {
    var registry = new FakeRegistry(new FakeRegistry.Store());
    registry.aheadNanos = 4_500 * MS;
    var wide = new Rig(new ManualTime(), registry);
    Grant grant = wide.acquire("a");
    refused(Reason.WATERMARK, () -> wide.renew(grant, wrote(START + 4_500 * MS + 1)));
    assertEquals(1, wide.renew(grant, wrote(START + 4_500 * MS)).witnesses().size());
    wide.service.release(grant.id(), wrote(START + 4_500 * MS));
  }

  @Test
  void l2_aWatermarkFromLongBeforeTheGrantIsRefused() throws Exception {
    Grant grant = rig.acquire("a");
    rig.time.advanceMs(5);
    long hour = 3_600_000 * MS;
    refused(Reason.WATERMARK, () -> rig.renew(grant, wrote(START / 1_000)));
    refused(Reason.WATERMARK, () -> rig.renew(grant, wrote(START - hour - 1)));
    assertEquals(1, rig.renew(grant, wrote(START - hour)).witnesses().size());
  }

  @Test
  void l2_aHolderThatWroteNothingPassesOnWhatItInherited() throws Exception {
    rig.service.release(rig.acquire("a").id(), wrote(START + 5));
    rig.time.advanceMs(100);
    rig.service.release(rig.acquire("a").id(), LeaseReport.NOTHING);
    rig.time.advanceMs(100);
    assertEquals(
        new Watermark(START + 5, START, START + 1_000 * MS), only(rig.acquire("a")).watermark());
  }

  @Test
  void l2_theHighestWatermarkOfALeaseCountsWhateverTheOrderOfItsReports() throws Exception {
    Grant grant = rig.acquire("a");
    rig.time.advanceMs(10);
    Grant renewed = rig.renew(grant, wrote(START + 9));
    assertEquals(Watermark.NONE, only(renewed).watermark(), "the lease's own bound stays");
    Grant late = rig.renew(grant, wrote(START + 7));
    assertEquals(only(renewed), only(late));
    rig.service.release(grant.id(), LeaseReport.NOTHING);
    assertEquals(START + 9, only(rig.acquire("a")).watermark().timestamp());
  }

  /** Readers hold it against that time: a later one would let pass what was ahead. */
  @Test
  void l2_aWatermarkHasTheTimeWhenItWasFirstStated() throws Exception {
    Grant grant = rig.acquire("a");
    var unused = rig.renew(grant, wrote(START + 9));
    rig.time.advanceMs(10);
    rig.service.release(grant.id(), wrote(START + 9));
    assertEquals(
        new Watermark(START + 9, START, START + 1_000 * MS), only(rig.acquire("a")).watermark());
  }

  @Test
  void l2_aWatermarkStatedBeforeAnExpiryIsKeptBesideTheFence() throws Exception {
    Grant grant = rig.acquire("a");
    var unused = rig.renew(grant, wrote(START + 9));
    rig.time.advanceMs(LEASE_MS);
    Witness next = only(rig.acquire("a"));
    assertEquals(START + 9, next.watermark().timestamp());
    assertEquals(grant.expiry(), next.fence().upTo());
  }

  @Test
  void l2_oneLeaseOfAGrantThatRefusesChangesNoneOfThem() throws Exception {
    rig.service.release(rig.acquire("b").id(), wrote(START + 500 * MS));
    Grant both = rig.acquire("a", "b");
    refused(Reason.WATERMARK, () -> rig.service.release(both.id(), wrote(START + 400 * MS)));
    refused(Reason.WATERMARK, () -> rig.renew(both, wrote(START + 400 * MS)));
    refused(Reason.HELD, () -> rig.acquire("a"));
    rig.service.release(both.id(), LeaseReport.NOTHING);
    assertEquals(Watermark.NONE, only(rig.acquire("a")).watermark());
  }
}
