package dev.cinch.lease.rules;

import static dev.cinch.lease.rules.States.NOW;
import static dev.cinch.lease.rules.States.at;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
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

  /** A name, and its last lease as it is now. */
  private static final class Name {
    private LeaseState state;

    Name(String name) {
      state = LeaseState.unknown(new LeaseName(name));
    }

    List<LeaseState> now() {
      return List.of(state);
    }

    void is(List<LeaseState> next) {
      assertEquals(List.of(state.name()), next.stream().map(LeaseState::name).toList());
      state = next.get(0);
    }
  }

  @Test
  void l1_aHeldNameIsRefusedUntilItsExpiryAndGrantedFromThenOn() throws Exception {
    Name lease = granted(ID, false);
    LeaseRefusedException e =
        refused(Reason.HELD, () -> acquire(lease, OTHER, false, NOW + LEASE - 1));
    assertEquals(1, e.retryAfterMs());
    assertEquals(ID, lease.state.id(), "as it was");
    acquire(lease, OTHER, false, NOW + LEASE);
    assertEquals(OTHER, lease.state.id());
    assertEquals(2, lease.state.witness(7).generation());
  }

  @Test
  void l1_ofSeveralNamesOneThatIsHeldRefusesAll() throws Exception {
    Name held = granted(ID, false);
    var free = new Name("a");
    refused(
        Reason.HELD,
        () ->
            rules.acquire(
                request(OTHER, A, false),
                List.of(free.state, held.state),
                ORIGIN,
                at(NOW),
                NO_CEILING));
    assertFalse(free.state.isKnown());
  }

  @Test
  void l1_aTentativeLeaseIsBrokenByAnyoneAndThenNotUpgraded() throws Exception {
    Name lease = granted(ID, true);
    acquire(lease, OTHER, true, NOW + 1);
    assertTrue(message(Reason.NOT_HELD, () -> upgrade(lease, ID, NOW + 2)).contains("was broken"));
    upgrade(lease, OTHER, NOW + 2);
    assertTrue(lease.state.excludes(at(NOW + 2)));
  }

  @Test
  void l1_whatExpiredIsNotProlonged() throws Exception {
    Name lease = granted(ID, false);
    assertTrue(
        message(Reason.NOT_HELD, () -> renew(lease, LeaseReport.NOTHING, NOW + LEASE))
            .contains("expired 0 ms ago"));
    renew(lease, LeaseReport.NOTHING, NOW + LEASE - 1);
    assertEquals(NOW + 2 * LEASE - 1, lease.state.expiry());
  }

  @Test
  void l2_aWatermarkLiesAboveTheLowerBoundAndBelowTheExpiry() throws Exception {
    Name lease = granted(ID, false);
    long later = NOW + LEASE - 1;
    refused(Reason.WATERMARK, () -> renew(lease, wrote(EARLIER.upTo()), later));
    refused(Reason.WATERMARK, () -> renew(lease, wrote(NOW + LEASE), later));
    refused(Reason.WATERMARK, () -> release(lease, wrote(EARLIER.upTo()), later));
    renew(lease, wrote(EARLIER.upTo() + 1), later);
    renew(lease, wrote(NOW + LEASE), later);
  }

  @Test
  void l2_aWatermarkIsNeitherFarAheadOfTheTimeNorLongBeforeTheGrant() throws Exception {
    Name lease = granted(ID, false);
    refused(Reason.WATERMARK, () -> renew(lease, wrote(NOW + SECOND + 1), NOW));
    renew(lease, wrote(NOW + SECOND), NOW);
    Name first = grantedFirst(A);
    refused(Reason.WATERMARK, () -> renew(first, wrote(NOW - 3_600 * SECOND - 1), NOW));
    renew(first, wrote(NOW - 3_600 * SECOND), NOW);
  }

  @Test
  void l2_aMeasuredBoundIsWhatAWatermarkIsHeldAgainst() throws Exception {
    Name lease = granted(ID, false);
    var slow = new Moment(NOW, TimeBound.around(NOW - 5 * SECOND, SECOND, TimeBound.Kind.MEASURED));
    var renew = new Operation.Renew(ID, LEASE_MS, LogSet.NONE, wrote(NOW - 3 * SECOND + 1));
    refused(Reason.WATERMARK, () -> rules.renew(renew, true, lease.now(), slow, NO_CEILING));
    var fits = new Operation.Renew(ID, LEASE_MS, LogSet.NONE, wrote(NOW - 3 * SECOND));
    assertEquals(1, rules.renew(fits, true, lease.now(), slow, NO_CEILING).size());
  }

  @Test
  void l2_aFenceThatIsStillToComeCanNotBeDoneWith() throws Exception {
    long upTo = NOW + 2 * SECOND + 1; // a second ahead of the latest that it can be, and more
    Inheritance from = Inheritance.origin(Ending.UNKNOWN, new Fence(upTo, LogSet.ALL));
    var lease = new Name("n");
    lease.is(rules.acquire(request(ID, A, false), lease.now(), from, at(NOW), NO_CEILING));
    refused(Reason.WATERMARK, () -> renew(lease, FENCED, NOW));
    refused(Reason.WATERMARK, () -> release(lease, FENCED, NOW));
    renew(lease, FENCED, NOW + 1);
    assertEquals(upTo, lease.state.witness(7).watermark().timestamp());
  }

  @Test
  void l2_theHighestWatermarkOfALeaseIsInherited() throws Exception {
    Name lease = granted(ID, false);
    renew(lease, wrote(NOW + 5), NOW + 10);
    renew(lease, wrote(NOW + 3), NOW + 11);
    release(lease, LeaseReport.NOTHING, NOW + 12);
    acquire(lease, OTHER, false, NOW + 20);
    Witness next = lease.state.witness(7);
    assertEquals(new Watermark(NOW + 5, NOW + 10, NOW + 10 + SECOND), next.watermark());
    assertEquals(Ending.RELEASED, next.previousEnding());
    assertEquals(NOW + 12, next.previousEndedAt());
    assertEquals(NOW + LEASE + 20, lease.state.expiry());
  }

  @Test
  void l2_aHolderThatWroteNothingPassesOnWhatItInherited() throws Exception {
    Name lease = granted(ID, false);
    renew(lease, wrote(NOW + 5), NOW + 10);
    release(lease, LeaseReport.NOTHING, NOW + 12);
    acquire(lease, OTHER, false, NOW + 20);
    acquire(lease, ID, false, NOW + 20 + LEASE);
    assertEquals(NOW + 5, lease.state.witness(7).watermark().timestamp());
  }

  @Test
  void l2_aTentativeLeaseHasNoWatermark() throws Exception {
    Name lease = granted(ID, true);
    refused(Reason.WATERMARK, () -> renew(lease, wrote(NOW), NOW + 1));
  }

  @Test
  void l3_noExpiryIsAboveTheCeiling() throws Exception {
    long ceiling = NOW + LEASE;
    var lease = new Name("n");
    var request = request(ID, A, false);
    refused(
        Reason.NOT_YET, () -> rules.acquire(request, lease.now(), ORIGIN, at(NOW + 1), ceiling));
    assertFalse(lease.state.isKnown());
    lease.is(rules.acquire(request, lease.now(), ORIGIN, at(NOW), ceiling));
    var renew = new Operation.Renew(ID, LEASE_MS, LogSet.NONE, LeaseReport.NOTHING);
    refused(Reason.NOT_YET, () -> rules.renew(renew, true, lease.now(), at(NOW + 1), ceiling));
    assertEquals(ceiling, lease.state.expiry());
  }

  @Test
  void l4_aNameOfWhichNothingIsKnownInheritsWhatTheBackendSays() throws Exception {
    Name lease = granted(ID, false);
    Witness w = lease.state.witness(7);
    assertEquals(EARLIER, w.fence());
    assertEquals(Ending.UNKNOWN, w.previousEnding());
    assertEquals(Optional.empty(), w.previous());
    assertEquals(Correlation.of(ID, new LeaseName("n"), NOW, STORE), w.correlation());
  }

  @Test
  void l4_fencesThatNameTooManyLogsTogetherAreForAll() throws Exception {
    LogSet thousand = logs(0, Witness.MAX_LOGS);
    List<LeaseState> leases =
        IntStream.range(0, 11).mapToObj(i -> new Name("n" + (char) ('a' + i)).state).toList();
    Inheritance from = Inheritance.origin(Ending.UNKNOWN, new Fence(NOW - 1, thousand));
    leases = rules.acquire(request(ID, A, false), leases, from, at(NOW), NO_CEILING);
    assertEquals(Grant.MAX_LOGS, 10 * Witness.MAX_LOGS);
    assertEquals(thousand, leases.get(9).witness(7).fence().logs());
    assertEquals(LogSet.ALL, leases.get(10).witness(7).fence().logs());
  }

  @Test
  void l4_aRenewalThatNamesTooManyLogsIsRefusedAndChangesNothing() throws Exception {
    Name lease = granted(ID, false);
    var renew = new Operation.Renew(ID, LEASE_MS, logs(100, Witness.MAX_LOGS), wrote(NOW + 1));
    refused(Reason.INVALID, () -> rules.renew(renew, true, lease.now(), at(NOW + 5), NO_CEILING));
    assertEquals(granted(ID, false).state, lease.state);
    var most = new Operation.Renew(ID, LEASE_MS, logs(100, Witness.MAX_LOGS - 1), wrote(NOW + 1));
    lease.is(rules.renew(most, true, lease.now(), at(NOW + 5), NO_CEILING));
    assertEquals(Witness.MAX_LOGS, lease.state.witness(7).logs().ids().size());
  }

  /** A thousand logs are not kept with each lease of a grant, nor again once they are renewed. */
  @Test
  void l4_theLeasesOfAGrantHaveItsRequestAndItsLogsInCommon() throws Exception {
    List<LeaseState> leases = List.of(new Name("a").state, new Name("b").state);
    leases = rules.acquire(request(ID, A, false), leases, ORIGIN, at(NOW), NO_CEILING);
    assertSame(leases.get(0).request(), leases.get(1).request());
    assertSame(leases.get(0).from(), leases.get(1).from());
    var renew = new Operation.Renew(ID, LEASE_MS, A, LeaseReport.NOTHING);
    for (LeaseState renewed : rules.renew(renew, true, leases, at(NOW + 1), NO_CEILING)) {
      assertSame(leases.get(0).request().logs(), renewed.term().logs());
    }
  }

  @Test
  void l4_aShorterLeaseHasNoMetadataAndThenAFenceForAllLogs() throws Exception {
    Inheritance from = Inheritance.origin(Ending.UNKNOWN, new Fence(NOW - 1, B));
    var lease = new Name("n");
    lease.is(rules.acquire(request(ID, A, false), lease.now(), from, at(NOW), NO_CEILING));
    LeaseState full = lease.state.withMetadata(List.of(new LeaseReport.Metadata(OTHER, 1, "f")), 8);
    assertEquals(Optional.of(lease.state), full.shorter());
    LeaseState shortest = lease.state.shorter().orElseThrow();
    assertEquals(new Fence(NOW - 1, LogSet.ALL), shortest.witness(7).fence());
    assertEquals(Optional.empty(), shortest.shorter());
  }

  @Test
  void l8_aBrokenLeaseIsFencedUpToItsHighestExpiryForAllItsLogs() throws Exception {
    Name lease = grantedFirst(A);
    var wider = new Operation.Renew(ID, LEASE_MS, B, LeaseReport.NOTHING);
    lease.is(rules.renew(wider, true, lease.now(), at(NOW + 5), NO_CEILING));
    var shorter = new Operation.Renew(ID, 1, LogSet.NONE, LeaseReport.NOTHING);
    lease.is(rules.renew(shorter, true, lease.now(), at(NOW + 6), NO_CEILING));
    assertEquals(NOW + 5 + LEASE, lease.state.expiry(), "an expiry never moves back");
    var set = new Moment(NOW + 3 * LEASE, at(NOW).bound(), NOW + 4 + LEASE, 0);
    assertTrue(lease.state.isHeld(set), "nor does it by a steady clock");
    Inheritance left = rules.inheritance(lease.state, NOW + 2 * LEASE);
    assertEquals(new Fence(NOW + 5 + LEASE, A.union(B)), left.fence());
    assertEquals(Ending.BROKEN, left.ending());
  }

  @Test
  void l8_aTentativeLeaseNeedsNoFenceOfItsOwnAndPassesOnWhatItCarried() throws Exception {
    Name lease = granted(ID, true);
    assertEquals(EARLIER, rules.inheritance(lease.state, NOW + LEASE).fence());
    upgrade(lease, ID, NOW + 1);
    assertEquals(NOW + 1 + LEASE, rules.inheritance(lease.state, NOW + 2 * LEASE).fence().upTo());
  }

  @Test
  void l8_aFenceIsCarriedUntilAHolderReportsItAndThenStandsInTheWatermark() throws Exception {
    Name lease = granted(ID, false);
    release(lease, LeaseReport.NOTHING, NOW + 1);
    acquire(lease, OTHER, false, NOW + 2);
    assertEquals(EARLIER, lease.state.witness(7).fence());
    var fenced = new Operation.Renew(OTHER, LEASE_MS, LogSet.NONE, FENCED);
    lease.is(rules.renew(fenced, true, lease.now(), at(NOW + 3), NO_CEILING));
    assertEquals(Fence.NONE, lease.state.witness(7).fence());
    assertEquals(EARLIER.upTo(), lease.state.witness(7).watermark().timestamp());
    refused(
        Reason.WATERMARK,
        () ->
            rules.release(
                new Operation.Release(OTHER, wrote(EARLIER.upTo())),
                true,
                lease.now(),
                at(NOW + 4)));
  }

  @Test
  void l8_aFenceThatIsDoneWithOnReleaseStandsInTheWatermarkToo() throws Exception {
    Name lease = granted(ID, false);
    release(lease, FENCED, NOW + 1);
    acquire(lease, OTHER, false, NOW + 2);
    assertEquals(Fence.NONE, lease.state.witness(7).fence());
    assertEquals(
        new Watermark(EARLIER.upTo(), NOW + 1, NOW + 1 + SECOND),
        lease.state.witness(7).watermark());
  }

  @Test
  void l10_aLeaseOfAnEarlierInstanceGoesOnOnceItIsEnded() throws Exception {
    Witness w = granted(ID, false).state.witness(7);
    LeaseRules later = rules(8);
    var lease = new Name("n");
    assertFalse(resume(later, lease, w, false, false, NOW + 1));
    assertFalse(lease.state.isKnown());
    assertTrue(resume(later, lease, w, true, false, NOW + 1));
    Witness resumed = lease.state.witness(8);
    assertTrue(resumed.resumed());
    assertEquals(w.correlation(), resumed.correlation());
    assertEquals(w.fence(), resumed.fence());
    assertEquals(w.watermark(), resumed.watermark());
    assertEquals(w.logs(), resumed.logs());
    assertEquals(NOW + 1 + LEASE, resumed.expiry());
    assertTrue(resume(later, lease, w, false, false, NOW + 2), "again");
    assertEquals(NOW + 2 + LEASE, lease.state.expiry());
  }

  @Test
  void l10_nothingIsResumedThatWasTakenForgottenOrExpired() throws Exception {
    Witness w = granted(ID, false).state.witness(7);
    LeaseRules later = rules(8);
    refused(Reason.NOT_HELD, () -> resume(later, new Name("n"), w, true, true, NOW + 1));
    refused(Reason.NOT_HELD, () -> resume(later, new Name("n"), w, true, false, NOW + LEASE));
    Name taken = granted(OTHER, false);
    release(taken, OTHER, LeaseReport.NOTHING, NOW + 1);
    refused(Reason.NOT_HELD, () -> resume(later, taken, w, true, false, NOW + 2));
    // The same secret was granted anew here: that is another lease.
    Name anew = granted(ID, false);
    refused(Reason.NOT_HELD, () -> resume(later, anew, w, true, false, NOW + 2));
  }

  @Test
  void l11_anAcquireTellsWhichLeasesALaterInstanceMightResume() throws Exception {
    Name expired = granted(ID, false);
    Unreleased unreleased = expired.state.unreleased();
    assertEquals(List.of(unreleased), acquire(expired, OTHER, false, NOW + LEASE));
    Name released = granted(ID, false);
    release(released, LeaseReport.NOTHING, NOW + 1);
    assertEquals(List.of(), acquire(released, OTHER, false, NOW + 2));
    Name tentative = granted(ID, true);
    assertEquals(List.of(), acquire(tentative, OTHER, false, NOW + 2));
    Name ended = granted(ID, false);
    ended.is(LeaseRules.ended(ended.state, unreleased).stream().toList());
    assertEquals(Optional.empty(), LeaseRules.ended(ended.state, unreleased));
    assertEquals(List.of(), acquire(ended, OTHER, false, NOW + LEASE));
    assertEquals(Optional.empty(), LeaseRules.ended(ended.state, unreleased), "another lease");
  }

  @Test
  void l12_reportsCountOnlyAtTheInstanceThatTheyName() throws Exception {
    Name lease = granted(ID, false);
    refused(Reason.OTHER_INSTANCE, () -> renew(lease, LeaseReport.NOTHING.to(6), NOW + 1));
    refused(Reason.OTHER_INSTANCE, () -> release(lease, LeaseReport.NOTHING.to(8), NOW + 1));
    refused(Reason.OTHER_INSTANCE, () -> rules.requireHere(LeaseReport.NOTHING.to(8)));
    renew(lease, LeaseReport.NOTHING.to(7), NOW + 1);
    release(lease, LeaseReport.NOTHING.to(7), NOW + 2);
  }

  @Test
  void l12_aResumedLeaseTakesNoReportThatNamesNoInstance() throws Exception {
    var lease = new Name("n");
    LeaseRules later = rules(8);
    assertTrue(resume(later, lease, granted(ID, false).state.witness(7), true, false, NOW + 1));
    var unnamed = new Operation.Renew(ID, LEASE_MS, LogSet.NONE, LeaseReport.NOTHING);
    refused(
        Reason.OTHER_INSTANCE,
        () -> later.renew(unnamed, true, lease.now(), at(NOW + 2), NO_CEILING));
    var named = new Operation.Renew(ID, LEASE_MS, LogSet.NONE, LeaseReport.NOTHING.to(8));
    lease.is(later.renew(named, true, lease.now(), at(NOW + 2), NO_CEILING));
  }

  @Test
  void l12_afterAResumedLeaseThatWasNotReleasedEverythingIsFenced() throws Exception {
    var before = new Name("n");
    Inheritance from = Inheritance.origin(Ending.NONE, new Fence(NOW - 5, B));
    before.is(rules.acquire(request(ID, A, false), before.now(), from, at(NOW), NO_CEILING));
    var lease = new Name("n");
    long ceiling = NOW + 100 * SECOND;
    var later =
        new LeaseRules(
            8,
            STORE,
            new Fence(ceiling, LogSet.ALL),
            new WatermarkRule(SECOND, SECOND),
            id -> Optional.empty());
    assertTrue(resume(later, lease, before.state.witness(7), true, false, NOW + 1));
    assertEquals(
        new Fence(ceiling, LogSet.ALL), later.inheritance(lease.state, NOW + 2 * LEASE).fence());
    var release = new Operation.Release(ID, LeaseReport.NOTHING.to(8));
    lease.is(later.release(release, true, lease.now(), at(NOW + 2)));
    assertEquals(new Fence(NOW - 5, B), later.inheritance(lease.state, NOW + 3).fence());
  }

  @Test
  void l15_aRevokedLeaseIsNotProlongedAndExcludesUntilItsExpiry() throws Exception {
    Name lease = granted(ID, false);
    var request =
        new Operation.Revoke(new LeaseName("n"), "hangs", Optional.of(lease.state.correlation()));
    assertEquals("hangs", rules.revocable(request, lease.state, at(NOW + 1)).reason());
    lease.is(LeaseRules.ended(lease.state, lease.state.unreleased()).stream().toList());
    revoked.put(lease.state.correlation(), "hangs");
    assertTrue(
        message(Reason.NOT_HELD, () -> renew(lease, LeaseReport.NOTHING, NOW + 2))
            .contains("was revoked: hangs"));
    refused(Reason.NOT_HELD, () -> upgrade(lease, ID, NOW + 2));
    refused(Reason.HELD, () -> acquire(lease, OTHER, false, NOW + LEASE - 1));
    assertEquals(NOW + LEASE, rules.inheritance(lease.state, NOW + LEASE).fence().upTo());
    release(lease, wrote(NOW + 1), NOW + 3);
    assertEquals(NOW + 1, rules.inheritance(lease.state, NOW + 4).watermark().timestamp());
  }

  @Test
  void l15_onlyALeaseThatIsHeldAndMeantIsRevoked() throws Exception {
    Name lease = granted(ID, false);
    var other = new Operation.Revoke(new LeaseName("n"), "hangs", Optional.of(OTHER));
    refused(Reason.NOT_HELD, () -> rules.revocable(other, lease.state, at(NOW + 1)));
    var any = new Operation.Revoke(new LeaseName("n"), "hangs", Optional.empty());
    refused(Reason.NOT_HELD, () -> rules.revocable(any, lease.state, at(NOW + LEASE)));
    refused(Reason.NOT_HELD, () -> rules.revocable(any, granted(ID, true).state, at(NOW + 1)));
    refused(Reason.NOT_HELD, () -> rules.revocable(any, new Name("n").state, at(NOW + 1)));
  }

  @Test
  void aReleaseOfTentativeLeasesPassesOverThoseThatWereBroken() throws Exception {
    var a = new Name("a");
    var b = new Name("b");
    var both = List.of(a.state, b.state);
    both = rules.acquire(request(ID, A, true), both, ORIGIN, at(NOW), NO_CEILING);
    b.is(both.subList(1, 2));
    acquire(b, OTHER, false, NOW + 1);
    var release = new Operation.Release(ID, LeaseReport.NOTHING);
    List<LeaseState> now = List.of(both.get(0), b.state);
    List<LeaseState> released = rules.release(release, false, now, at(NOW + 2));
    assertEquals(List.of(both.get(0).name()), released.stream().map(LeaseState::name).toList());
    assertTrue(b.state.isHeld(at(NOW + 2)));
    refused(Reason.NOT_HELD, () -> rules.release(release, true, now, at(NOW + 2)));
  }

  @Test
  void aRequestThatComesAgainIsKnownByWhatItAsksFor() throws Exception {
    Name lease = granted(ID, false);
    assertTrue(lease.state.belongsTo(ID) && lease.state.isFor(request(ID, A, false)));
    assertFalse(lease.state.isFor(request(ID, B, false)));
    assertFalse(lease.state.isFor(request(ID, A, true)));
    rules.requireHeld(ID, true, lease.now(), at(NOW + 1));
    refused(Reason.NOT_HELD, () -> rules.requireHeld(OTHER, true, lease.now(), at(NOW + 1)));
  }

  private LeaseRules rules(long instance) {
    return new LeaseRules(
        instance,
        STORE,
        EARLIER,
        new WatermarkRule(SECOND, 3_600 * SECOND),
        lease -> Optional.ofNullable(revoked.get(lease)));
  }

  private Name granted(Id id, boolean tentative) throws LeaseRefusedException {
    var lease = new Name("n");
    assertEquals(List.of(), acquire(lease, id, tentative, NOW));
    return lease;
  }

  /** The first lease of its name, with nothing to inherit. */
  private Name grantedFirst(LogSet logs) throws LeaseRefusedException {
    var lease = new Name("n");
    Inheritance none = Inheritance.origin(Ending.NONE, Fence.NONE);
    lease.is(rules.acquire(request(ID, logs, false), lease.now(), none, at(NOW), NO_CEILING));
    return lease;
  }

  private List<Unreleased> acquire(Name lease, Id id, boolean tentative, long now)
      throws LeaseRefusedException {
    List<Unreleased> unended = LeaseRules.unended(lease.now());
    lease.is(rules.acquire(request(id, A, tentative), lease.now(), ORIGIN, at(now), NO_CEILING));
    return unended;
  }

  private static Operation.Acquire request(Id id, LogSet logs, boolean tentative) {
    return new Operation.Acquire(
        id, List.of(new LeaseName("n")), "host", LEASE_MS, logs, tentative);
  }

  private void renew(Name lease, LeaseReport report, long now) throws LeaseRefusedException {
    var renew = new Operation.Renew(ID, LEASE_MS, LogSet.NONE, report);
    lease.is(rules.renew(renew, true, lease.now(), at(now), NO_CEILING));
  }

  private void upgrade(Name lease, Id id, long now) throws LeaseRefusedException {
    var upgrade = new Operation.Upgrade(id, LEASE_MS);
    lease.is(rules.upgrade(upgrade, false, lease.now(), at(now), NO_CEILING));
  }

  private void release(Name lease, LeaseReport report, long now) throws LeaseRefusedException {
    release(lease, ID, report, now);
  }

  private void release(Name lease, Id id, LeaseReport report, long now)
      throws LeaseRefusedException {
    var release = new Operation.Release(id, report);
    lease.is(rules.release(release, true, lease.now(), at(now)));
  }

  /** Whether it goes on, since it was ended or went on before. */
  private static boolean resume(
      LeaseRules at, Name lease, Witness w, boolean ended, boolean forgotten, long now)
      throws LeaseRefusedException {
    var request = new Operation.Resume(ID, List.of(new SignedWitness(w, new byte[1])), LEASE_MS);
    Optional<List<LeaseState>> resumed =
        at.resume(request, ended, lease.now(), forgotten, at(now), NO_CEILING);
    resumed.ifPresent(lease::is);
    return resumed.isPresent();
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
