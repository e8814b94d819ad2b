package dev.cinch.lease.instance;

import static dev.cinch.lease.instance.Rig.LEASE_MS;
import static dev.cinch.lease.instance.Rig.LOG_A;
import static dev.cinch.lease.instance.Rig.MS;
import static dev.cinch.lease.instance.Rig.only;
import static dev.cinch.lease.instance.Rig.refused;
import static dev.cinch.lease.instance.Rig.wrote;
import static dev.cinch.lease.time.ManualTime.START;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Altered;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.rules.Inheritance;
import dev.cinch.lease.rules.Moment;
import dev.cinch.lease.rules.States;
import dev.cinch.lease.table.MemoryLeases;
import dev.cinch.lease.table.TableLimits;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.TrustedKeys;
import dev.cinch.lease.witness.WitnessSigner;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Rules L10 to L12: a lease goes on at a later instance. */
final class ResumeRulesTest {
  private final ManualTime time = new ManualTime();
  private final FakeRegistry.Store store = new FakeRegistry.Store();
  private final FakeRegistry firstFiles = new FakeRegistry(store);
  private final FakeRegistry laterFiles = new FakeRegistry(store);
  private final Rig first = new Rig(time, firstFiles);

  private Rig later() {
    return new Rig(time, laterFiles);
  }

  /** By a request of the one source of ids. */
  private Grant acquired(Rig at, String... names)
      throws LeaseRefusedException, LeaseUnavailableException {
    return at.service.acquire(first.request(names));
  }

  private static Operation.Resume showing(Grant grant) {
    return new Operation.Resume(grant.id(), grant.witnesses(), LEASE_MS);
  }

  private static Grant resumed(Rig at, Grant grant)
      throws LeaseRefusedException, LeaseUnavailableException {
    return at.service.resume(showing(grant));
  }

  private static SigningKey key(int number) {
    var seed = new byte[32];
    seed[0] = (byte) number;
    return SigningKey.ofSeed(seed);
  }

  private static InstanceRegistry.End endOf(Grant grant) {
    Witness w = only(grant);
    return new InstanceRegistry.End(w.correlation(), w.instance());
  }

  private void pass(long ms) {
    time.advanceMs(ms);
  }

  private long ceiling(long instance) {
    return Objects.requireNonNull(store.ceilings.get(instance));
  }

  private static LeaseReport nothing(Grant grant) {
    return LeaseReport.NOTHING.to(only(grant).instance());
  }

  @Test
  void l10_theLeaseGoesOnWithItsCorrelationAndBoundsAndWaitsForNothing() throws Exception {
    Grant before = first.acquire("a");
    first.service.release(before.id(), wrote(START + 5).to(1));
    Grant grant = first.acquire("a");
    pass(1_000);
    Rig later = later();
    refused(Reason.NOT_YET, () -> acquired(later, "b"));
    Witness w = only(resumed(later, grant));
    Witness was = only(grant);
    assertEquals(was.correlation(), w.correlation());
    assertEquals(was.previous(), w.previous());
    assertEquals(was.lowerBound(), w.lowerBound());
    assertEquals(START + 5, w.watermark().timestamp());
    assertEquals(was.logs(), w.logs());
    assertEquals(was.holder(), w.holder());
    assertEquals(Fence.NONE, w.fence());
    assertEquals(2, w.instance());
    assertEquals(1, w.generation());
    assertTrue(w.resumed());
    assertFalse(was.resumed());
    assertEquals(time.wallNanos() + LEASE_MS * MS, w.expiry());
    assertEquals(Map.of(endOf(grant), 2L), store.ends);
  }

  /** Servers of two stores may have one key, and one address after the other. */
  @Test
  void l10_aLeaseThatWasGrantedForAnotherStoreIsNotResumed() throws Exception {
    var other = new FakeRegistry.Store();
    other.id = new Id(7, 8);
    other.numbers = 1;
    other.ceilings.put(1L, START);
    Grant grant = first.acquire("a");
    Rig there = new Rig(time, new FakeRegistry(other));
    refused(Reason.NOT_HELD, () -> resumed(there, grant));
    assertEquals(Map.of(), other.ends);
    assertEquals(2, only(resumed(later(), grant)).instance());
  }

  @Test
  void l10_whatHadToBeFencedStillHasTo() throws Exception {
    Grant expired = first.acquire("a");
    pass(LEASE_MS);
    Grant grant = first.acquire("a");
    assertEquals(expired.expiry(), only(grant).fence().upTo());
    Rig later = later();
    Grant resumed = resumed(later, grant);
    assertEquals(only(grant).fence(), only(resumed).fence());
    later.service.release(resumed.id(), nothing(resumed));
    pass(120_000);
    assertEquals(only(grant).fence(), only(acquired(later, "a")).fence());
  }

  @Test
  void l10_theSecretIsNeeded() throws Exception {
    Grant grant = first.acquire("a");
    Rig later = later();
    var stolen = new Operation.Resume(new Id(1, 2), grant.witnesses(), LEASE_MS);
    refused(Reason.NOT_HELD, () -> later.service.resume(stolen));
    assertEquals(Map.of(), store.ends);
  }

  @Test
  void l10_theWitnessIsSignedByAKeyThatCounts() throws Exception {
    Grant grant = first.acquire("a");
    Rig later = later();
    SigningKey other = key(1);
    laterFiles.keys = TrustedKeys.of(other.publicKey());
    refused(Reason.NOT_HELD, () -> resumed(later, grant));
    laterFiles.keys = TrustedKeys.of(other.publicKey(), Rig.KEY.publicKey());
    var forged =
        new Operation.Resume(
            grant.id(), List.of(new WitnessSigner(key(2)).sign(only(grant))), LEASE_MS);
    refused(Reason.NOT_HELD, () -> later.service.resume(forged));
    assertEquals(2, only(resumed(later, grant)).instance());
  }

  @Test
  void l10_tentativeLeasesAreNotResumed() throws Exception {
    Grant grant = first.service.acquire(first.tentative("a"));
    Rig later = later();
    refused(Reason.NOT_HELD, () -> resumed(later, grant));
    assertEquals(Map.of(), store.ends);
  }

  @Test
  void l10_anInstanceInBetweenMayHaveGrantedTheName() throws Exception {
    Grant grant = first.acquire("a");
    Rig between = later();
    Grant other = first.acquire("b");
    assertEquals(2, only(resumed(between, other)).instance()); // it has published a ceiling
    Rig third = new Rig(time, new FakeRegistry(store));
    refused(Reason.NOT_HELD, () -> resumed(third, grant));
    assertEquals(1, store.ends.size());
  }

  @Test
  void l10_anInstanceInBetweenThatSignedNothingIsNoObstacle() throws Exception {
    Grant grant = first.acquire("a");
    Rig between = later();
    Rig third = new Rig(time, new FakeRegistry(store));
    assertEquals(3, only(resumed(third, grant)).instance());
    refused(Reason.SUPERSEDED, () -> resumed(between, grant));
  }

  @Test
  void l10_aChainOfRestarts() throws Exception {
    Grant grant = first.acquire("a");
    Grant second = resumed(later(), grant);
    var thirdFiles = new FakeRegistry(store);
    Rig third = new Rig(time, thirdFiles);
    refused(Reason.NOT_HELD, () -> resumed(third, grant)); // it went on at the second
    Witness w = only(resumed(third, second));
    assertEquals(3, w.instance());
    assertEquals(only(grant).correlation(), w.correlation());
  }

  @Test
  void l10_aNameThatWasGrantedHereIsNotResumed() throws Exception {
    Grant grant = first.acquire("a");
    Rig later = later();
    pass(120_000);
    Grant other = acquired(later, "a");
    Grant longer = first(grant);
    refused(Reason.NOT_HELD, () -> resumed(later, longer));
    assertFalse(store.ends.containsKey(endOf(grant)));
    assertNotEquals(only(grant).correlation(), only(other).correlation());
  }

  /** The same grant as its instance signed it for later, which does not know that it is over. */
  private static Grant first(Grant grant) {
    Witness w = only(grant);
    var later = Altered.with(w, "expiry", Long.MAX_VALUE / 2);
    return new Grant(grant.id(), List.of(new WitnessSigner(Rig.KEY).sign(later)));
  }

  /** As a service signs none; what it says of its watermark can't be. */
  @Test
  void l2_aWitnessWhoseWatermarkIsTooFarAheadIsNotResumed() throws Exception {
    Grant grant = first.acquire("a");
    Rig later = later();
    refused(Reason.NOT_HELD, () -> resumed(later, ahead(grant, 1_000 * MS + 1)));
    assertFalse(store.ends.containsKey(endOf(grant)));
    Witness w = only(resumed(later, ahead(grant, 1_000 * MS)));
    assertEquals(only(ahead(grant, 1_000 * MS)).watermark(), w.watermark());
  }

  private static Grant ahead(Grant grant, long nanos) {
    Witness w = Altered.ahead(only(grant), nanos);
    return new Grant(grant.id(), List.of(new WitnessSigner(Rig.KEY).sign(w)));
  }

  @Test
  void l10_theNameIsLookedAtAgainAfterTheEndWasMade() throws Exception {
    Grant grant = first(first.acquire("a"));
    Rig later = later();
    pass(120_000);
    laterFiles.beforeEnding =
        () -> {
          try {
            laterFiles.beforeEnding = () -> {};
            var unused = acquired(later, "a");
          } catch (LeaseRefusedException | LeaseUnavailableException e) {
            throw new AssertionError(e);
          }
        };
    refused(Reason.NOT_HELD, () -> resumed(later, grant));
  }

  @Test
  void l10_anInstanceThatHasForgottenResumesNothingThatItMayHaveKnown() throws Exception {
    Grant grant = first(first.acquire("x"));
    var limits = new TableLimits(2, Long.MAX_VALUE, 0, 1_000 * MS, 3_600_000 * MS, 0);
    var tiny = new Rig(time, laterFiles, false, limits);
    pass(120_000);
    for (String name : List.of("a", "b", "c")) {
      Grant g = acquired(tiny, name);
      tiny.service.release(g.id(), LeaseReport.NOTHING);
      pass(1_000);
    }
    refused(Reason.NOT_HELD, () -> resumed(tiny, grant));
    assertEquals(Map.of(), store.ends);
  }

  @Test
  void l10_aRepeatedResumeIsAnsweredFromMemory() throws Exception {
    Grant grant = first.acquire("a", "b");
    Rig later = later();
    Grant once = resumed(later, grant);
    long made = laterFiles.count("end");
    pass(1_000);
    Grant again = resumed(later, grant);
    assertEquals(made, laterFiles.count("end"));
    assertEquals(once.expiry() + 1_000 * MS, again.expiry());
    assertEquals(2, again.witnesses().size());
    // Not once it was given back, whoever's the end is.
    later.service.release(grant.id(), LeaseReport.NOTHING.to(2));
    refused(Reason.NOT_HELD, () -> resumed(later, grant));
  }

  @Test
  void l10_theSameRequestGrantedAnewIsAnotherLease() throws Exception {
    Operation.Acquire request = first.request("a");
    Grant grant = first(first.service.acquire(request));
    Rig later = later();
    pass(120_000);
    Grant anew = later.service.acquire(request);
    assertNotEquals(only(grant).correlation(), only(anew).correlation());
    refused(Reason.NOT_HELD, () -> resumed(later, grant));
  }

  @Test
  void l10_aServiceWithoutAStoreResumesNothing() throws Exception {
    Grant grant = first.acquire("a");
    var alone = new Rig();
    refused(Reason.NOT_HELD, () -> resumed(alone, grant));
  }

  @Test
  void l10_whatHasExpiredIsNotResumed() throws Exception {
    Grant grant = first.acquire("a");
    Rig later = later();
    pass(LEASE_MS);
    refused(Reason.NOT_HELD, () -> resumed(later, grant));
    assertEquals(Map.of(), store.ends);
  }

  @Test
  void l10_nothingIsSignedAboveACeilingOfItsOwn() throws Exception {
    Grant grant = first.acquire("a");
    Rig later = later();
    Grant resumed = resumed(later, grant);
    assertTrue(ceiling(2) >= resumed.expiry());
  }

  @Test
  void l11_whatExpiredIsEndedBeforeTheNameIsGrantedOn() throws Exception {
    Grant grant = first.acquire("a");
    pass(LEASE_MS);
    var unused = first.service.acquire(first.tentative("a"));
    assertEquals(Map.of(endOf(grant), 1L), store.ends);
    Rig later = later();
    Grant longer = first(grant);
    refused(Reason.NOT_HELD, () -> resumed(later, longer));
  }

  @Test
  void l11_theEarlierInstanceStopsWhereALaterOneWasFaster() throws Exception {
    Grant grant = first.acquire("a");
    Rig later = later();
    var unused = resumed(later, grant);
    pass(LEASE_MS);
    // Paused, so that it has not heard of the later one; it has a ceiling left.
    refused(Reason.SUPERSEDED, () -> first.service.acquire(first.request("a")));
    refused(Reason.SUPERSEDED, () -> first.acquire("z"));
  }

  @Test
  void l11_nothingIsGrantedWhileItIsUnknownWhoseTheEndIs() throws Exception {
    var unused = first.acquire("a");
    pass(LEASE_MS / 2);
    unused = first.acquire("other"); // so that a ceiling is left
    pass(LEASE_MS / 2);
    firstFiles.beforeEnding =
        () -> {
          throw new java.io.UncheckedIOException(new java.io.IOException("stale file handle"));
        };
    LeaseRefusedException e = refused(Reason.NOT_YET, () -> first.acquire("a"));
    assertTrue(String.valueOf(e.getMessage()).contains("stale file handle"), e.getMessage());
    firstFiles.beforeEnding = () -> {};
    assertEquals(Ending.BROKEN, only(first.acquire("a")).previousEnding());
  }

  @Test
  void l11_whatIsReleasedCostsNoFile() throws Exception {
    for (int i = 0; i < 3; i++) {
      Grant grant = first.acquire("a");
      first.service.release(grant.id(), LeaseReport.NOTHING.to(1));
    }
    assertEquals(0, firstFiles.count("end"));
  }

  @Test
  void l11_whatExpiredIsEndedBeforeItIsForgotten() throws Exception {
    var limits = new TableLimits(2, Long.MAX_VALUE, 0, 1_000 * MS, 3_600_000 * MS, 0);
    var tiny = new Rig(time, laterFiles, false, limits);
    Grant grant = acquired(tiny, "a", "b");
    pass(LEASE_MS + 1_000);
    var unused = acquired(tiny, "c");
    assertFalse(tiny.service.show(only(unused).name()).isEmpty());
    for (var signed : grant.witnesses()) {
      Witness w = signed.witness();
      boolean forgotten = tiny.service.show(w.name()).isEmpty();
      assertTrue(
          !forgotten
              || store.ends.containsKey(new InstanceRegistry.End(w.correlation(), w.instance())));
    }
    assertTrue(store.ends.size() >= 1);
  }

  @Test
  void l11_whatALaterInstanceResumedIsNotForgotten() throws Exception {
    var limits = new TableLimits(1, Long.MAX_VALUE, 0, 1_000 * MS, 3_600_000 * MS, 0);
    var tiny = new Rig(time, laterFiles, false, limits);
    Grant grant = acquired(tiny, "a");
    Rig later = new Rig(time, new FakeRegistry(store));
    var unused = resumed(later, grant);
    pass(LEASE_MS + 500);
    refused(Reason.SUPERSEDED, () -> acquired(tiny, "c"));
  }

  @Test
  void l12_whoFollowsAResumedLeaseThatWasNotReleasedFencesWhatEarlierInstancesMaySign()
      throws Exception {
    Grant grant = first.acquire("a");
    Rig later = later();
    Grant resumed = resumed(later, grant);
    pass(LEASE_MS);
    // Its holder may not have heard of the later instance, and go by the earlier one.
    refused(Reason.NOT_YET, () -> acquired(later, "a"));
    pass(LEASE_MS);
    Witness next = only(acquired(later, "a"));
    long ceiling = ceiling(1);
    assertTrue(ceiling > resumed.expiry());
    assertEquals(new Fence(ceiling, LogSet.ALL), next.fence());
    assertEquals(Ending.BROKEN, next.previousEnding());
    assertEquals(2, next.generation());
  }

  @Test
  void l12_orItsOwnExpiryIfThatIsHigher() throws Exception {
    Grant grant = first.acquire("a");
    long ceiling = ceiling(1);
    Rig later = later();
    Grant resumed = resumed(later, grant);
    for (int i = 0; i < 10; i++) {
      pass(LEASE_MS - 1);
      resumed = later.renew(resumed, nothing(resumed));
    }
    assertTrue(resumed.expiry() > ceiling);
    pass(LEASE_MS);
    assertEquals(new Fence(resumed.expiry(), LogSet.ALL), only(acquired(later, "a")).fence());
  }

  @Test
  void l12_thatIsAlsoWhatIsKeptWhenItIsForgotten() throws Exception {
    Grant grant = first.acquire("a");
    var limits = new TableLimits(1, Long.MAX_VALUE, 0, 1_000 * MS, 3_600_000 * MS, 0);
    var tiny = new Rig(time, laterFiles, false, limits);
    var unused = resumed(tiny, grant);
    pass(120_000);
    Witness next = only(acquired(tiny, "c"));
    assertTrue(next.fence().upTo() >= ceiling(1));
    assertEquals(LogSet.ALL, next.fence().logs());
  }

  @Test
  void l12_whoFollowsOneThatWasReleasedGetsItsWatermark() throws Exception {
    Grant grant = first.acquire("a");
    Rig later = later();
    Grant resumed = resumed(later, grant);
    later.service.release(resumed.id(), wrote(START + 9).to(2));
    pass(120_000);
    Witness next = only(acquired(later, "a"));
    assertEquals(Fence.NONE, next.fence());
    assertEquals(START + 9, next.watermark().timestamp());
    assertEquals(Ending.RELEASED, next.previousEnding());
  }

  @Test
  void l12_aReleaseCountsOnlyAtTheInstanceThatItNames() throws Exception {
    Grant grant = first.acquire("a");
    Rig later = later();
    var unused = resumed(later, grant); // which its holder does not hear
    first.service.release(grant.id(), LeaseReport.NOTHING.to(1));
    // The same request, after its answer was lost.
    refused(
        Reason.OTHER_INSTANCE, () -> later.service.release(grant.id(), LeaseReport.NOTHING.to(1)));
    // Whoever names no instance never resumed anything.
    refused(Reason.OTHER_INSTANCE, () -> later.service.release(grant.id(), LeaseReport.NOTHING));
    refused(Reason.HELD, () -> acquired(later, "a"));
  }

  @Test
  void l12_soDoRenewals() throws Exception {
    Grant grant = first.acquire("a");
    Rig later = later();
    Grant resumed = resumed(later, grant);
    refused(Reason.OTHER_INSTANCE, () -> later.renew(grant, LeaseReport.NOTHING.to(1)));
    refused(Reason.OTHER_INSTANCE, () -> later.renew(grant, LeaseReport.NOTHING));
    refused(Reason.OTHER_INSTANCE, () -> later.service.upgrade(grant.id(), LEASE_MS));
    assertTrue(later.renew(resumed, nothing(resumed)).expiry() >= resumed.expiry());
    refused(Reason.OTHER_INSTANCE, () -> first.renew(grant, LeaseReport.NOTHING.to(2)));
    assertEquals(LogSet.of(List.of(LOG_A)), only(resumed).logs());
  }

  @Test
  void l12_anUnknownLeaseOfAnotherInstanceIsSaidToBeSo() throws Exception {
    Grant grant = first.acquire("a");
    Rig later = later();
    refused(Reason.OTHER_INSTANCE, () -> later.renew(grant, LeaseReport.NOTHING.to(1)));
    refused(Reason.NOT_HELD, () -> later.renew(grant, LeaseReport.NOTHING));
    // Nor does the release of one that is not here keep it from being resumed.
    refused(
        Reason.OTHER_INSTANCE, () -> later.service.release(grant.id(), LeaseReport.NOTHING.to(1)));
    assertEquals(2, only(resumed(later, grant)).instance());
  }

  @Test
  void l2_aReleaseWhoseWatermarkIsRefusedIsNone() throws Exception {
    Grant grant = first.acquire("a");
    Rig later = later();
    Grant resumed = resumed(later, grant);
    long above = resumed.expiry();
    refused(Reason.WATERMARK, () -> later.service.release(resumed.id(), wrote(above).to(2)));
    pass(2 * LEASE_MS);
    assertTrue(only(acquired(later, "a")).fence().upTo() >= above);
  }

  /** Whose next look finds a later one. */
  private void superseded(Rig rig) {
    pass(Publisher.LOOK_EVERY / MS);
    rig.service.maintain();
    assertTrue(rig.service.info().superseded());
  }

  private static LeaseReport toFirst() {
    return LeaseReport.NOTHING.to(1);
  }

  /** What it would release is no news to the later one, which fences all the same. */
  @Test
  void l9_aSupersededInstanceReleasesNothing() throws Exception {
    Grant grant = first.acquire("a");
    Rig second = later();
    superseded(first);
    refused(Reason.SUPERSEDED, () -> first.service.release(grant.id(), toFirst()));
    Grant there = resumed(second, grant);
    refused(Reason.OTHER_INSTANCE, () -> second.service.release(grant.id(), toFirst()));
    second.service.release(there.id(), LeaseReport.NOTHING.to(2));
    assertEquals(Ending.RELEASED, only(acquired(second, "a")).previousEnding());
  }

  @Test
  void l10_whereThereIsNoRoomNothingIsResumedAndWhatWasGoesOn() throws Exception {
    var table =
        new MemoryLeases(
            new TableLimits(1, Long.MAX_VALUE, 0, 1_000 * MS, 3_600_000 * MS, 0),
            2,
            Inheritance.origin(Ending.UNKNOWN, Fence.NONE),
            Fence.NONE,
            0,
            Optional.empty());
    Moment now = States.at(States.NOW + 1);
    assertTrue(table.resume(resumeOf("a"), true, now, Long.MAX_VALUE).isPresent());
    refused(Reason.NOT_YET, () -> table.resume(resumeOf("b"), true, now, Long.MAX_VALUE));
    assertTrue(table.resume(resumeOf("a"), true, now, Long.MAX_VALUE).isPresent());
  }

  private static Operation.Resume resumeOf(String name) {
    var witness = new SignedWitness(States.full(name).witness(1), new byte[1]);
    return new Operation.Resume(new Id(1, name.hashCode()), List.of(witness), LEASE_MS);
  }
}
