package dev.cinch.lease.table;

import static dev.cinch.lease.table.States.NOW;
import static dev.cinch.lease.table.States.at;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Correlation;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.Watermark;
import dev.cinch.lease.Witness;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** The transition by itself: states in, states out. One test a rule, or a part of one. */
final class LeaseRulesTest {
  private static final long SECOND = 1_000_000_000L;
  private static final long LEASE = 10 * SECOND;
  private static final long LEASE_MS = 10_000;
  private static final long NO_CEILING = Long.MAX_VALUE;
  private static final Id ID = new Id(1, 1);
  private static final Id OTHER = new Id(2, 2);
  private static final Id STORE = new Id(3, 3);
  private static final LogSet A = LogSet.of(List.of(new Id(0, 0xA)));
  private static final LogSet B = LogSet.of(List.of(new Id(0, 0xB)));
  private static final Fence EARLIER = new Fence(NOW - 60 * SECOND, LogSet.ALL);
  private static final Inheritance ORIGIN = Inheritance.origin(Ending.UNKNOWN, EARLIER);
  private static final LeaseReport FENCED = new LeaseReport(OptionalLong.empty(), true, List.of());

  /** Why, by correlation. */
  private final Map<Id, String> revoked = new HashMap<>();

  private final LeaseRules rules = rules(7);

  @Test
  void l1_aHeldNameIsRefusedUntilItsExpiryAndGrantedFromThenOn() throws Exception {
    LeaseState lease = granted(ID, false);
    LeaseRefusedException e =
        refused(Reason.HELD, () -> acquire(lease, OTHER, false, NOW + LEASE - 1));
    assertEquals(1, e.retryAfterMs());
    assertEquals(ID, lease.id(), "as it was");
    acquire(lease, OTHER, false, NOW + LEASE);
    assertEquals(OTHER, lease.id());
    assertEquals(2, lease.witness(7).generation());
  }

  @Test
  void l1_ofSeveralNamesOneThatIsHeldRefusesAll() throws Exception {
    LeaseState held = granted(ID, false);
    var free = new LeaseState("a");
    refused(
        Reason.HELD,
        () ->
            rules.acquire(
                request(OTHER, A, false), List.of(free, held), ORIGIN, at(NOW), NO_CEILING));
    assertFalse(free.isKnown());
  }

  @Test
  void l1_aTentativeLeaseIsBrokenByAnyoneAndThenNotUpgraded() throws Exception {
    LeaseState lease = granted(ID, true);
    acquire(lease, OTHER, true, NOW + 1);
    assertTrue(message(Reason.NOT_HELD, () -> upgrade(lease, ID, NOW + 2)).contains("was broken"));
    upgrade(lease, OTHER, NOW + 2);
    assertTrue(lease.excludes(at(NOW + 2)));
  }

  @Test
  void l1_whatExpiredIsNotProlonged() throws Exception {
    LeaseState lease = granted(ID, false);
    assertTrue(
        message(Reason.NOT_HELD, () -> renew(lease, LeaseReport.NOTHING, NOW + LEASE))
            .contains("expired 0 ms ago"));
    renew(lease, LeaseReport.NOTHING, NOW + LEASE - 1);
    assertEquals(NOW + 2 * LEASE - 1, lease.expiry());
  }

  @Test
  void l2_aWatermarkLiesAboveTheLowerBoundAndBelowTheExpiry() throws Exception {
    LeaseState lease = granted(ID, false);
    long later = NOW + LEASE - 1;
    refused(Reason.WATERMARK, () -> renew(lease, wrote(EARLIER.upTo()), later));
    refused(Reason.WATERMARK, () -> renew(lease, wrote(NOW + LEASE), later));
    refused(Reason.WATERMARK, () -> release(lease, wrote(EARLIER.upTo()), later));
    renew(lease, wrote(EARLIER.upTo() + 1), later);
    renew(lease, wrote(NOW + LEASE), later);
  }

  @Test
  void l2_aWatermarkIsNeitherFarAheadOfTheTimeNorLongBeforeTheGrant() throws Exception {
    LeaseState lease = granted(ID, false);
    refused(Reason.WATERMARK, () -> renew(lease, wrote(NOW + SECOND + 1), NOW));
    renew(lease, wrote(NOW + SECOND), NOW);
    LeaseState first = grantedFirst(A);
    refused(Reason.WATERMARK, () -> renew(first, wrote(NOW - 3_600 * SECOND - 1), NOW));
    renew(first, wrote(NOW - 3_600 * SECOND), NOW);
  }

  @Test
  void l2_aMeasuredBoundIsWhatAWatermarkIsHeldAgainst() throws Exception {
    LeaseState lease = granted(ID, false);
    var slow = new Moment(NOW, TimeBound.around(NOW - 5 * SECOND, SECOND, TimeBound.Kind.MEASURED));
    var renew = new Operation.Renew(ID, LEASE_MS, LogSet.NONE, wrote(NOW - 3 * SECOND + 1));
    refused(Reason.WATERMARK, () -> rules.renew(renew, true, List.of(lease), slow, NO_CEILING));
    var fits = new Operation.Renew(ID, LEASE_MS, LogSet.NONE, wrote(NOW - 3 * SECOND));
    rules.renew(fits, true, List.of(lease), slow, NO_CEILING);
  }

  @Test
  void l2_aFenceThatIsStillToComeCanNotBeDoneWith() throws Exception {
    long upTo = NOW + 2 * SECOND + 1; // a second ahead of the latest that it can be, and more
    Inheritance from = Inheritance.origin(Ending.UNKNOWN, new Fence(upTo, LogSet.ALL));
    var lease = new LeaseState("n");
    var unused = rules.acquire(request(ID, A, false), List.of(lease), from, at(NOW), NO_CEILING);
    refused(Reason.WATERMARK, () -> renew(lease, FENCED, NOW));
    refused(Reason.WATERMARK, () -> release(lease, FENCED, NOW));
    renew(lease, FENCED, NOW + 1);
    assertEquals(upTo, lease.witness(7).watermark().timestamp());
  }

  @Test
  void l2_theHighestWatermarkOfALeaseIsInherited() throws Exception {
    LeaseState lease = granted(ID, false);
    renew(lease, wrote(NOW + 5), NOW + 10);
    renew(lease, wrote(NOW + 3), NOW + 11);
    release(lease, LeaseReport.NOTHING, NOW + 12);
    acquire(lease, OTHER, false, NOW + 20);
    Witness next = lease.witness(7);
    assertEquals(new Watermark(NOW + 5, NOW + 10, NOW + 10 + SECOND), next.watermark());
    assertEquals(Ending.RELEASED, next.previousEnding());
    assertEquals(NOW + 12, next.previousEndedAt());
    assertEquals(NOW + LEASE + 20, lease.expiry());
  }

  @Test
  void l2_aHolderThatWroteNothingPassesOnWhatItInherited() throws Exception {
    LeaseState lease = granted(ID, false);
    renew(lease, wrote(NOW + 5), NOW + 10);
    release(lease, LeaseReport.NOTHING, NOW + 12);
    acquire(lease, OTHER, false, NOW + 20);
    acquire(lease, ID, false, NOW + 20 + LEASE);
    assertEquals(NOW + 5, lease.witness(7).watermark().timestamp());
  }

  @Test
  void l2_aTentativeLeaseHasNoWatermark() throws Exception {
    LeaseState lease = granted(ID, true);
    refused(Reason.WATERMARK, () -> renew(lease, wrote(NOW), NOW + 1));
  }

  @Test
  void l3_noExpiryIsAboveTheCeiling() throws Exception {
    long ceiling = NOW + LEASE;
    var lease = new LeaseState("n");
    var request = request(ID, A, false);
    refused(
        Reason.NOT_YET, () -> rules.acquire(request, List.of(lease), ORIGIN, at(NOW + 1), ceiling));
    assertFalse(lease.isKnown());
    var unended = rules.acquire(request, List.of(lease), ORIGIN, at(NOW), ceiling);
    assertEquals(List.of(), unended);
    var renew = new Operation.Renew(ID, LEASE_MS, LogSet.NONE, LeaseReport.NOTHING);
    refused(Reason.NOT_YET, () -> rules.renew(renew, true, List.of(lease), at(NOW + 1), ceiling));
    assertEquals(ceiling, lease.expiry());
  }

  @Test
  void l4_aNameOfWhichNothingIsKnownInheritsWhatTheBackendSays() throws Exception {
    LeaseState lease = granted(ID, false);
    Witness w = lease.witness(7);
    assertEquals(EARLIER, w.fence());
    assertEquals(Ending.UNKNOWN, w.previousEnding());
    assertEquals(Optional.empty(), w.previous());
    assertEquals(Correlation.of(ID, new LeaseName("n"), NOW, STORE), w.correlation());
  }

  @Test
  void l4_fencesThatNameTooManyLogsTogetherAreForAll() throws Exception {
    LogSet thousand = logs(0, Witness.MAX_LOGS);
    List<LeaseState> leases =
        IntStream.range(0, 11).mapToObj(i -> new LeaseState("n" + (char) ('a' + i))).toList();
    Inheritance from = Inheritance.origin(Ending.UNKNOWN, new Fence(NOW - 1, thousand));
    var unused = rules.acquire(request(ID, A, false), leases, from, at(NOW), NO_CEILING);
    assertEquals(Grant.MAX_LOGS, 10 * Witness.MAX_LOGS);
    assertEquals(thousand, leases.get(9).witness(7).fence().logs());
    assertEquals(LogSet.ALL, leases.get(10).witness(7).fence().logs());
  }

  @Test
  void l4_aRenewalThatNamesTooManyLogsIsRefusedAndChangesNothing() throws Exception {
    LeaseState lease = granted(ID, false);
    var renew = new Operation.Renew(ID, LEASE_MS, logs(100, Witness.MAX_LOGS), wrote(NOW + 1));
    refused(
        Reason.INVALID, () -> rules.renew(renew, true, List.of(lease), at(NOW + 5), NO_CEILING));
    States.assertSame(granted(ID, false), lease);
    var most = new Operation.Renew(ID, LEASE_MS, logs(100, Witness.MAX_LOGS - 1), wrote(NOW + 1));
    rules.renew(most, true, List.of(lease), at(NOW + 5), NO_CEILING);
    assertEquals(Witness.MAX_LOGS, lease.witness(7).logs().ids().size());
  }

  @Test
  void l8_aBrokenLeaseIsFencedUpToItsHighestExpiryForAllItsLogs() throws Exception {
    LeaseState lease = grantedFirst(A);
    rules.renew(
        new Operation.Renew(ID, LEASE_MS, B, LeaseReport.NOTHING),
        true,
        List.of(lease),
        at(NOW + 5),
        NO_CEILING);
    rules.renew(
        new Operation.Renew(ID, 1, LogSet.NONE, LeaseReport.NOTHING),
        true,
        List.of(lease),
        at(NOW + 6),
        NO_CEILING);
    assertEquals(NOW + 5 + LEASE, lease.expiry(), "an expiry never moves back");
    Inheritance left = rules.inheritance(lease, NOW + 2 * LEASE);
    assertEquals(new Fence(NOW + 5 + LEASE, A.union(B)), left.fence());
    assertEquals(Ending.BROKEN, left.ending());
  }

  @Test
  void l8_aTentativeLeaseNeedsNoFenceOfItsOwnAndPassesOnWhatItCarried() throws Exception {
    LeaseState lease = granted(ID, true);
    assertEquals(EARLIER, rules.inheritance(lease, NOW + LEASE).fence());
    upgrade(lease, ID, NOW + 1);
    assertEquals(NOW + 1 + LEASE, rules.inheritance(lease, NOW + 2 * LEASE).fence().upTo());
  }

  @Test
  void l8_aFenceIsCarriedUntilAHolderReportsItAndThenStandsInTheWatermark() throws Exception {
    LeaseState lease = granted(ID, false);
    release(lease, LeaseReport.NOTHING, NOW + 1);
    acquire(lease, OTHER, false, NOW + 2);
    assertEquals(EARLIER, lease.witness(7).fence());
    var fenced = new Operation.Renew(OTHER, LEASE_MS, LogSet.NONE, FENCED);
    rules.renew(fenced, true, List.of(lease), at(NOW + 3), NO_CEILING);
    assertEquals(Fence.NONE, lease.witness(7).fence());
    assertEquals(EARLIER.upTo(), lease.witness(7).watermark().timestamp());
    refused(
        Reason.WATERMARK,
        () ->
            rules.release(
                new Operation.Release(OTHER, wrote(EARLIER.upTo())),
                true,
                List.of(lease),
                at(NOW + 4)));
  }

  @Test
  void l8_aFenceThatIsDoneWithOnReleaseStandsInTheWatermarkToo() throws Exception {
    LeaseState lease = granted(ID, false);
    release(lease, FENCED, NOW + 1);
    acquire(lease, OTHER, false, NOW + 2);
    assertEquals(Fence.NONE, lease.witness(7).fence());
    assertEquals(
        new Watermark(EARLIER.upTo(), NOW + 1, NOW + 1 + SECOND), lease.witness(7).watermark());
  }

  @Test
  void l10_aLeaseOfAnEarlierInstanceGoesOnOnceItIsEnded() throws Exception {
    Witness w = granted(ID, false).witness(7);
    LeaseRules later = rules(8);
    var lease = new LeaseState("n");
    assertEquals(LeaseRules.Resumed.UNENDED, resume(later, lease, w, false, false, NOW + 1));
    assertFalse(lease.isKnown());
    assertEquals(LeaseRules.Resumed.BEGUN, resume(later, lease, w, true, false, NOW + 1));
    Witness resumed = lease.witness(8);
    assertTrue(resumed.resumed());
    assertEquals(w.correlation(), resumed.correlation());
    assertEquals(w.fence(), resumed.fence());
    assertEquals(w.watermark(), resumed.watermark());
    assertEquals(w.logs(), resumed.logs());
    assertEquals(NOW + 1 + LEASE, resumed.expiry());
    assertEquals(LeaseRules.Resumed.AGAIN, resume(later, lease, w, false, false, NOW + 2));
    assertEquals(NOW + 2 + LEASE, lease.expiry());
  }

  @Test
  void l10_nothingIsResumedThatWasTakenForgottenOrExpired() throws Exception {
    Witness w = granted(ID, false).witness(7);
    LeaseRules later = rules(8);
    refused(Reason.NOT_HELD, () -> resume(later, new LeaseState("n"), w, true, true, NOW + 1));
    refused(Reason.NOT_HELD, () -> resume(later, new LeaseState("n"), w, true, false, NOW + LEASE));
    LeaseState taken = granted(OTHER, false);
    release(taken, OTHER, LeaseReport.NOTHING, NOW + 1);
    refused(Reason.NOT_HELD, () -> resume(later, taken, w, true, false, NOW + 2));
    // The same secret was granted anew here: that is another lease.
    LeaseState anew = granted(ID, false);
    refused(Reason.NOT_HELD, () -> resume(later, anew, w, true, false, NOW + 2));
  }

  @Test
  void l11_anAcquireTellsWhichLeasesALaterInstanceMightResume() throws Exception {
    LeaseState expired = granted(ID, false);
    LeaseBackend.Tenure tenure = expired.tenure();
    assertEquals(List.of(tenure), acquire(expired, OTHER, false, NOW + LEASE));
    LeaseState released = granted(ID, false);
    release(released, LeaseReport.NOTHING, NOW + 1);
    assertEquals(List.of(), acquire(released, OTHER, false, NOW + 2));
    LeaseState tentative = granted(ID, true);
    assertEquals(List.of(), acquire(tentative, OTHER, false, NOW + 2));
    LeaseState ended = granted(ID, false);
    assertTrue(LeaseRules.end(ended, tenure));
    assertFalse(LeaseRules.end(ended, tenure));
    assertEquals(List.of(), acquire(ended, OTHER, false, NOW + LEASE));
    assertFalse(LeaseRules.end(ended, tenure), "it is another lease by now");
  }

  @Test
  void l12_reportsCountOnlyAtTheInstanceThatTheyName() throws Exception {
    LeaseState lease = granted(ID, false);
    refused(Reason.OTHER_INSTANCE, () -> renew(lease, LeaseReport.NOTHING.to(6), NOW + 1));
    refused(Reason.OTHER_INSTANCE, () -> release(lease, LeaseReport.NOTHING.to(8), NOW + 1));
    refused(Reason.OTHER_INSTANCE, () -> rules.requireHere(LeaseReport.NOTHING.to(8)));
    renew(lease, LeaseReport.NOTHING.to(7), NOW + 1);
    release(lease, LeaseReport.NOTHING.to(7), NOW + 2);
  }

  @Test
  void l12_aResumedLeaseTakesNoReportThatNamesNoInstance() throws Exception {
    var lease = new LeaseState("n");
    LeaseRules later = rules(8);
    assertEquals(
        LeaseRules.Resumed.BEGUN,
        resume(later, lease, granted(ID, false).witness(7), true, false, NOW + 1));
    var unnamed = new Operation.Renew(ID, LEASE_MS, LogSet.NONE, LeaseReport.NOTHING);
    refused(
        Reason.OTHER_INSTANCE,
        () -> later.renew(unnamed, true, List.of(lease), at(NOW + 2), NO_CEILING));
    var named = new Operation.Renew(ID, LEASE_MS, LogSet.NONE, LeaseReport.NOTHING.to(8));
    later.renew(named, true, List.of(lease), at(NOW + 2), NO_CEILING);
  }

  @Test
  void l12_afterAResumedLeaseThatWasNotReleasedEverythingIsFenced() throws Exception {
    var before = new LeaseState("n");
    var unused =
        rules.acquire(
            request(ID, A, false),
            List.of(before),
            Inheritance.origin(Ending.NONE, new Fence(NOW - 5, B)),
            at(NOW),
            NO_CEILING);
    var lease = new LeaseState("n");
    long ceiling = NOW + 100 * SECOND;
    var later =
        new LeaseRules(
            8,
            STORE,
            new Fence(ceiling, LogSet.ALL),
            new WatermarkRule(SECOND, SECOND),
            id -> Optional.empty());
    assertEquals(
        LeaseRules.Resumed.BEGUN, resume(later, lease, before.witness(7), true, false, NOW + 1));
    assertEquals(new Fence(ceiling, LogSet.ALL), later.inheritance(lease, NOW + 2 * LEASE).fence());
    var release = new Operation.Release(ID, LeaseReport.NOTHING.to(8));
    assertEquals(List.of(lease), later.release(release, true, List.of(lease), at(NOW + 2)));
    assertEquals(new Fence(NOW - 5, B), later.inheritance(lease, NOW + 3).fence());
  }

  @Test
  void l15_aRevokedLeaseIsNotProlongedAndExcludesUntilItsExpiry() throws Exception {
    LeaseState lease = granted(ID, false);
    var request =
        new Operation.Revoke(new LeaseName("n"), "hangs", Optional.of(lease.correlation()));
    assertEquals("hangs", rules.revocable(request, lease, at(NOW + 1)).reason());
    assertTrue(LeaseRules.end(lease, lease.tenure()));
    revoked.put(lease.correlation(), "hangs");
    assertTrue(
        message(Reason.NOT_HELD, () -> renew(lease, LeaseReport.NOTHING, NOW + 2))
            .contains("was revoked: hangs"));
    refused(Reason.NOT_HELD, () -> upgrade(lease, ID, NOW + 2));
    refused(Reason.HELD, () -> acquire(lease, OTHER, false, NOW + LEASE - 1));
    assertEquals(NOW + LEASE, rules.inheritance(lease, NOW + LEASE).fence().upTo());
    release(lease, wrote(NOW + 1), NOW + 3);
    assertEquals(NOW + 1, rules.inheritance(lease, NOW + 4).watermark().timestamp());
  }

  @Test
  void l15_onlyALeaseThatIsHeldAndMeantIsRevoked() throws Exception {
    LeaseState lease = granted(ID, false);
    var other = new Operation.Revoke(new LeaseName("n"), "hangs", Optional.of(OTHER));
    refused(Reason.NOT_HELD, () -> rules.revocable(other, lease, at(NOW + 1)));
    var any = new Operation.Revoke(new LeaseName("n"), "hangs", Optional.empty());
    refused(Reason.NOT_HELD, () -> rules.revocable(any, lease, at(NOW + LEASE)));
    refused(Reason.NOT_HELD, () -> rules.revocable(any, granted(ID, true), at(NOW + 1)));
    refused(Reason.NOT_HELD, () -> rules.revocable(any, new LeaseState("n"), at(NOW + 1)));
  }

  @Test
  void aReleaseOfTentativeLeasesPassesOverThoseThatWereBroken() throws Exception {
    var a = new LeaseState("a");
    var b = new LeaseState("b");
    var unused = rules.acquire(request(ID, A, true), List.of(a, b), ORIGIN, at(NOW), NO_CEILING);
    acquire(b, OTHER, false, NOW + 1);
    var release = new Operation.Release(ID, LeaseReport.NOTHING);
    assertEquals(List.of(a), rules.release(release, false, List.of(a, b), at(NOW + 2)));
    assertTrue(b.isHeld(at(NOW + 2)));
    refused(Reason.NOT_HELD, () -> rules.release(release, true, List.of(a, b), at(NOW + 2)));
  }

  @Test
  void aRequestThatComesAgainIsKnownByWhatItAsksFor() throws Exception {
    LeaseState lease = granted(ID, false);
    assertTrue(lease.belongsTo(ID) && lease.isFor(request(ID, A, false)));
    assertFalse(lease.isFor(request(ID, B, false)));
    assertFalse(lease.isFor(request(ID, A, true)));
    rules.requireHeld(ID, true, List.of(lease), at(NOW + 1));
    refused(Reason.NOT_HELD, () -> rules.requireHeld(OTHER, true, List.of(lease), at(NOW + 1)));
  }

  private LeaseRules rules(long instance) {
    return new LeaseRules(
        instance,
        STORE,
        EARLIER,
        new WatermarkRule(SECOND, 3_600 * SECOND),
        lease -> Optional.ofNullable(revoked.get(lease)));
  }

  private LeaseState granted(Id id, boolean tentative) throws LeaseRefusedException {
    var lease = new LeaseState("n");
    assertEquals(List.of(), acquire(lease, id, tentative, NOW));
    return lease;
  }

  /** The first lease of its name, with nothing to inherit. */
  private LeaseState grantedFirst(LogSet logs) throws LeaseRefusedException {
    var lease = new LeaseState("n");
    Inheritance none = Inheritance.origin(Ending.NONE, Fence.NONE);
    assertEquals(
        List.of(),
        rules.acquire(request(ID, logs, false), List.of(lease), none, at(NOW), NO_CEILING));
    return lease;
  }

  private List<LeaseBackend.Tenure> acquire(LeaseState lease, Id id, boolean tentative, long now)
      throws LeaseRefusedException {
    return rules.acquire(request(id, A, tentative), List.of(lease), ORIGIN, at(now), NO_CEILING);
  }

  private static Operation.Acquire request(Id id, LogSet logs, boolean tentative) {
    return new Operation.Acquire(
        id, List.of(new LeaseName("n")), "host", LEASE_MS, logs, tentative);
  }

  private void renew(LeaseState lease, LeaseReport report, long now) throws LeaseRefusedException {
    var renew = new Operation.Renew(ID, LEASE_MS, LogSet.NONE, report);
    rules.renew(renew, true, List.of(lease), at(now), NO_CEILING);
  }

  private void upgrade(LeaseState lease, Id id, long now) throws LeaseRefusedException {
    rules.upgrade(new Operation.Upgrade(id, LEASE_MS), false, List.of(lease), at(now), NO_CEILING);
  }

  private void release(LeaseState lease, LeaseReport report, long now)
      throws LeaseRefusedException {
    release(lease, ID, report, now);
  }

  private void release(LeaseState lease, Id id, LeaseReport report, long now)
      throws LeaseRefusedException {
    var release = new Operation.Release(id, report);
    assertEquals(List.of(lease), rules.release(release, true, List.of(lease), at(now)));
  }

  private static LeaseRules.Resumed resume(
      LeaseRules at, LeaseState lease, Witness w, boolean ended, boolean forgotten, long now)
      throws LeaseRefusedException {
    var signed = new SignedWitness(w, new byte[1]);
    return at.resume(
        new Operation.Resume(ID, List.of(signed), LEASE_MS),
        ended,
        List.of(lease),
        forgotten,
        at(now),
        NO_CEILING);
  }

  private static LogSet logs(int from, int count) {
    return LogSet.of(IntStream.range(from, from + count).mapToObj(i -> new Id(1, i)).toList());
  }

  private static LeaseReport wrote(long watermark) {
    return new LeaseReport(OptionalLong.of(watermark), false, List.of());
  }

  private static String message(Reason reason, Executable call) {
    return String.valueOf(refused(reason, call).getMessage());
  }

  private static LeaseRefusedException refused(Reason reason, Executable call) {
    LeaseRefusedException e = assertThrows(LeaseRefusedException.class, call);
    assertEquals(reason, e.reason(), e.getMessage());
    return e;
  }
}
