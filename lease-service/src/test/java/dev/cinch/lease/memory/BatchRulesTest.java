package dev.cinch.lease.memory;

import static dev.cinch.lease.memory.Rig.LEASE_MS;
import static dev.cinch.lease.memory.Rig.MS;
import static dev.cinch.lease.memory.Rig.wrote;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.witness.TrustedKeys;
import dev.cinch.lease.witness.WitnessVerifier;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Several operations at once: what each does alone, and with the store out of reach. */
final class BatchRulesTest {
  private final ManualTime time = new ManualTime();
  private final FakeRegistry registry = new FakeRegistry(new FakeRegistry.Store());
  private final Rig rig = new Rig(time, registry);

  private static Operation acquire(Operation.Acquire request) {
    return request;
  }

  private static Operation renew(Grant grant) {
    return new Operation.Renew(grant.id(), LEASE_MS, LogSet.NONE, LeaseReport.NOTHING);
  }

  private static Operation release(Grant grant) {
    return new Operation.Release(grant.id(), LeaseReport.NOTHING);
  }

  private static List<Witness> granted(Outcome outcome) {
    return assertInstanceOf(Outcome.Granted.class, outcome).grant().witnesses().stream()
        .map(SignedWitness::witness)
        .toList();
  }

  private static Reason refused(Outcome outcome) {
    return assertInstanceOf(Outcome.Refused.class, outcome).refusal().reason();
  }

  private List<Outcome> now(Operation... operations) {
    return rig.service.carryOutNow(List.of(List.of(operations))).get(0);
  }

  private long ceiling() {
    return registry.store.ceilings.getOrDefault(1L, Long.MIN_VALUE);
  }

  @Test
  void eachDoesWhatItDoesAlone() throws Exception {
    var alone = new Rig(new ManualTime(), new FakeRegistry(new FakeRegistry.Store()));
    Grant held = rig.acquire("held");
    assertEquals(held.id(), alone.acquire("held").id());
    Operation.Acquire a = rig.request("a", "b");
    Operation.Acquire taken = rig.request("b", "c");
    List<Operation> operations =
        List.of(
            acquire(a),
            acquire(taken),
            renew(held),
            new Operation.Upgrade(a.id(), LEASE_MS),
            release(held),
            renew(held),
            acquire(a));
    List<Outcome> together = rig.service.carryOut(operations);
    for (int i = 0; i < operations.size(); i++) {
      Outcome outcome = alone.service.carryOut(operations.get(i));
      if (outcome instanceof Outcome.Refused) {
        assertEquals(refused(outcome), refused(together.get(i)));
      } else if (outcome instanceof Outcome.Granted grant) {
        assertEquals(granted(grant), granted(together.get(i)));
      } else {
        assertEquals(outcome, together.get(i));
      }
    }
    assertEquals(Reason.HELD, refused(together.get(1)));
    assertReleased(together.get(4));
    assertEquals(Reason.NOT_HELD, refused(together.get(5)));
  }

  @Test
  void allWitnessesOfABatchShareASignatureThatHolds() throws Exception {
    var operations = new ArrayList<Operation>();
    for (int i = 0; i < 5; i++) {
      operations.add(acquire(rig.request("n" + i)));
    }
    var verifier = new WitnessVerifier(TrustedKeys.of(Rig.KEY.publicKey()));
    for (Outcome outcome : rig.service.carryOut(operations)) {
      Grant grant = assertInstanceOf(Outcome.Granted.class, outcome).grant();
      for (SignedWitness w : grant.witnesses()) {
        assertEquals(w, verifier.verify(w.bytes()));
      }
    }
  }

  @Test
  void whatNeedsTheStoreIsNotBegunNow() throws Exception {
    Operation.Acquire first = rig.request("a");
    List<String> before = List.copyOf(registry.calls);
    assertEquals(List.of(), now(acquire(first)));
    assertEquals(before, registry.calls);
    assertTrue(rig.service.show(first.names().get(0)).isEmpty());
    // Once a thread that may wait has published a ceiling, others need none.
    List<Outcome> waited = rig.service.carryOut(List.of(acquire(first)));
    assertEquals(1, granted(waited.get(0)).size());
    List<String> published = List.copyOf(registry.calls);
    List<Outcome> now = now(acquire(rig.request("b")), acquire(rig.request("c")));
    now.forEach(each -> assertEquals(1, granted(each).size()));
    assertEquals(2, now.size());
    assertEquals(published, registry.calls);
  }

  /** Rule L3: above the ceiling nothing is signed, by whichever way. */
  @Test
  void l3_aRenewalAboveTheCeilingWaitsForOneThatMayPublish() throws Exception {
    Grant grant = rig.acquire("a");
    long ceiling = ceiling();
    while (time.wallNanos() + LEASE_MS * MS <= ceiling) {
      assertEquals(1, now(renew(grant)).size());
      time.advanceMs(1_000);
    }
    assertEquals(List.of(), now(renew(grant)));
    assertEquals(ceiling, ceiling());
    Outcome renewed = rig.service.carryOut(List.of(renew(grant))).get(0);
    assertEquals(time.wallNanos() + LEASE_MS * MS, granted(renewed).get(0).expiry());
    assertTrue(ceiling() > ceiling);
  }

  /** Rule L9: an instance that was paused looks whether there is a later one before it signs. */
  @Test
  void l9_afterAPauseNothingIsSignedBeforeALook() throws Exception {
    Grant grant = rig.acquire("a");
    time.advanceNanos(InstanceGuard.PAUSED_AFTER + 1);
    registry.store.numbers++;
    assertEquals(List.of(), now(renew(grant)));
    assertEquals(Reason.SUPERSEDED, refused(rig.service.carryOut(List.of(renew(grant))).get(0)));
  }

  /** Rule L6: a clock that jumped ahead is compared with the store's first. */
  @Test
  void l6_afterAJumpNothingIsCarriedOutBeforeALook() throws Exception {
    Grant grant = rig.acquire("a");
    time.stepWallMs(3_000);
    Operation release = new Operation.Release(grant.id(), wrote(time.wallNanos()));
    assertEquals(List.of(), now(release));
    assertReleased(rig.service.carryOut(List.of(release)).get(0));
  }

  /** Rule L11: a lease that expired is ended in the store before its name is granted on. */
  @Test
  void l11_anExpiredNameIsNotGrantedOnWithoutTheStore() throws Exception {
    Grant grant = rig.acquire("a");
    time.advanceMs(LEASE_MS / 2);
    Grant other = rig.acquire("b");
    time.advanceMs(LEASE_MS / 2);
    Grant unused = rig.renew(other, LeaseReport.NOTHING);
    assertTrue(grant.expiry() <= time.wallNanos());
    Operation.Acquire again = rig.request("a");
    assertEquals(List.of(), now(acquire(again)));
    assertTrue(registry.store.ends.isEmpty());
    Outcome granted = rig.service.carryOut(List.of(acquire(again))).get(0);
    assertEquals(1, granted(granted).size());
    assertEquals(1, registry.store.ends.size());
  }

  @Test
  void resumingAlwaysNeedsTheStore() throws Exception {
    Grant grant = rig.acquire("a");
    var next = new Rig(time, new FakeRegistry(registry.store));
    Operation resume = new Operation.Resume(grant.id(), grant.witnesses(), LEASE_MS);
    assertEquals(List.of(List.of()), next.service.carryOutNow(List.of(List.of(resume))));
    assertTrue(registry.store.ends.isEmpty());
    assertTrue(granted(next.service.carryOut(List.of(resume)).get(0)).get(0).resumed());
  }

  /** Those that need the store don't hold up other requests. */
  @Test
  void otherRequestsAreCarriedOutNow() throws Exception {
    Grant held = rig.acquire("held");
    Operation resume = new Operation.Resume(held.id(), held.witnesses(), LEASE_MS);
    Operation.Acquire a = rig.request("a");
    List<List<Outcome>> outcomes =
        rig.service.carryOutNow(
            List.of(
                List.of(resume),
                List.of(acquire(a), acquire(rig.request("held"))),
                List.of(release(held))));
    assertEquals(List.of(0, 2, 1), outcomes.stream().map(List::size).toList());
    assertEquals("a", granted(outcomes.get(1).get(0)).get(0).name().value());
    assertEquals(Reason.HELD, refused(outcomes.get(1).get(1)));
    assertReleased(outcomes.get(2).get(0));
  }

  /** The operations of a request are carried out in their order, whoever carries them out. */
  @Test
  void whatStandsBehindOneThatNeedsTheStoreIsNotBegun() throws Exception {
    Grant expires = rig.acquire("a");
    time.advanceMs(LEASE_MS / 2);
    Grant other = rig.acquire("b");
    time.advanceMs(LEASE_MS / 2);
    assertTrue(expires.expiry() <= time.wallNanos());
    Operation.Acquire again = rig.request("a"); // which has to be ended in the store first
    List<Operation> request =
        List.of(
            renew(other),
            acquire(again),
            new Operation.Renew(again.id(), LEASE_MS, LogSet.NONE, LeaseReport.NOTHING),
            new Operation.Release(again.id(), LeaseReport.NOTHING));
    List<Outcome> now = rig.service.carryOutNow(List.of(request)).get(0);
    assertEquals(1, now.size());
    assertEquals(1, granted(now.get(0)).size());
    List<Outcome> rest = rig.service.carryOut(request.subList(1, request.size()));
    assertEquals(1, granted(rest.get(0)).size());
    assertEquals(1, granted(rest.get(1)).size());
    assertReleased(rest.get(2));
  }

  @Test
  void ofNoOperationsThereAreNoOutcomes() throws Exception {
    assertEquals(List.of(), rig.service.carryOut(List.of()));
    assertEquals(List.of(), rig.service.carryOutNow(List.of()));
  }

  private static void assertReleased(Outcome outcome) {
    assertEquals(Outcome.Released.class, outcome.getClass());
  }
}
