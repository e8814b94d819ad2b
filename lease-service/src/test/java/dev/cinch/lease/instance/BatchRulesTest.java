package dev.cinch.lease.instance;

import static dev.cinch.lease.instance.Rig.LEASE_MS;
import static dev.cinch.lease.instance.Rig.MS;
import static dev.cinch.lease.instance.Rig.wrote;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.time.SignedClock;
import dev.cinch.lease.witness.TrustedKeys;
import dev.cinch.lease.witness.WitnessVerifier;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Several operations at once: what each does alone, and while the store does not answer. */
final class BatchRulesTest {
  private final ManualTime time = new ManualTime();
  private final FakeRegistry registry = new FakeRegistry(new FakeRegistry.Store());
  private final Rig rig = new Rig(time, registry, this::atStore);

  /** What is to be done in the store, while it does not answer. */
  private final Deque<Runnable> waiting = new ArrayDeque<>();

  private boolean hangs;

  private void atStore(Runnable task) {
    if (hangs) {
      waiting.add(task);
    } else {
      task.run();
    }
  }

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

  /** What became of operations without the store. */
  private List<Outcome> now(Operation... operations) {
    CompletableFuture<List<Outcome>> begun = begin(List.of(operations)).get(0);
    assertTrue(begun.isDone(), "it waits for the store");
    return begun.join();
  }

  /** What becomes of an operation that needs the store, once that has answered. */
  private Outcome later(Operation operation) {
    return later(List.of(operation)).get(0);
  }

  private List<Outcome> later(List<Operation> operations) {
    List<String> before = List.copyOf(registry.calls);
    CompletableFuture<List<Outcome>> begun = begin(operations).get(0);
    assertFalse(begun.isDone());
    assertEquals(before, registry.calls);
    answer();
    return begun.join();
  }

  @SafeVarargs
  private List<CompletableFuture<List<Outcome>>> begin(List<Operation>... requests) {
    hangs = true;
    return rig.service.begin(List.of(requests));
  }

  private void answer() {
    for (Runnable task = waiting.poll(); task != null; task = waiting.poll()) {
      task.run();
    }
    hangs = false;
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
  void whatNeedsACeilingWaitsForIt() throws Exception {
    Operation.Acquire first = rig.request("a");
    assertEquals(1, granted(later(acquire(first))).size());
    // Once there is a ceiling, others need no store.
    List<String> published = List.copyOf(registry.calls);
    List<Outcome> now = now(acquire(rig.request("b")), acquire(rig.request("c")));
    now.forEach(each -> assertEquals(1, granted(each).size()));
    assertEquals(2, now.size());
    assertEquals(published, registry.calls);
  }

  @Test
  void l3_oneCeilingIsPublishedForAllThatWait() {
    List<CompletableFuture<List<Outcome>>> begun =
        begin(
            List.of(acquire(rig.request("a"))),
            List.of(acquire(rig.request("b"))),
            List.of(acquire(rig.request("c"))));
    answer();
    begun.forEach(each -> assertEquals(1, granted(each.join().get(0)).size()));
    assertEquals(1, registry.count("publish"));
  }

  /** Rule L3: above the ceiling nothing is signed, by whichever way. */
  @Test
  void l3_aRenewalAboveTheCeilingWaitsForTheNext() throws Exception {
    Grant grant = rig.acquire("a");
    long ceiling = ceiling();
    while (time.wallNanos() + LEASE_MS * MS <= ceiling) {
      assertEquals(1, now(renew(grant)).size());
      time.advanceMs(1_000);
    }
    assertEquals(ceiling, ceiling());
    Outcome renewed = later(renew(grant));
    assertEquals(time.wallNanos() + LEASE_MS * MS, granted(renewed).get(0).expiry());
    assertTrue(ceiling() > ceiling);
  }

  /** Rule L3: what is refused anyway publishes none, for which a later instance would wait. */
  @Test
  void l3_aRefusalNeedsNoCeiling() throws Exception {
    Grant held = rig.acquire("held");
    Operation.Acquire longer =
        new Operation.Acquire(
            rig.request("held").id(),
            Rig.names("held"),
            "other",
            ServiceInstance.DEFAULT_LONGEST_LEASE_MS,
            LogSet.ALL,
            false);
    assertEquals(Reason.HELD, refused(now(longer).get(0)));
    Operation unknown =
        new Operation.Renew(
            rig.request("x").id(),
            ServiceInstance.DEFAULT_LONGEST_LEASE_MS,
            LogSet.NONE,
            LeaseReport.NOTHING);
    assertEquals(Reason.NOT_HELD, refused(now(unknown).get(0)));
    Operation wrong =
        new Operation.Renew(
            held.id(),
            ServiceInstance.DEFAULT_LONGEST_LEASE_MS,
            LogSet.NONE,
            wrote(held.expiry() + MS));
    assertEquals(Reason.WATERMARK, refused(now(wrong).get(0)));
    assertEquals(1, registry.count("publish"));
  }

  /** Rule L9: an instance that was paused looks whether there is a later one before it signs. */
  @Test
  void l9_afterAPauseNothingIsSignedBeforeALook() throws Exception {
    Grant grant = rig.acquire("a");
    time.advanceNanos(InstanceGuard.PAUSED_AFTER + 1);
    registry.store.numbers++;
    assertEquals(Reason.SUPERSEDED, refused(later(renew(grant))));
  }

  /** Rule L6: a clock that jumped ahead is compared with the store's first. */
  @Test
  void l6_afterAJumpNothingIsCarriedOutBeforeALook() throws Exception {
    Grant grant = rig.acquire("a");
    time.stepWallMs(3_000);
    assertReleased(later(new Operation.Release(grant.id(), wrote(time.wallNanos()))));
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
    assertEquals(1, granted(later(acquire(rig.request("a")))).size());
    assertEquals(1, registry.store.ends.size());
  }

  @Test
  void l11_aResumedLeaseIsEndedInTheStoreFirst() throws Exception {
    Grant grant = rig.acquire("a");
    var store = new ArrayDeque<Runnable>();
    var next = new Rig(time, new FakeRegistry(registry.store), store::add);
    Operation resume = new Operation.Resume(grant.id(), grant.witnesses(), LEASE_MS);
    CompletableFuture<List<Outcome>> begun = next.service.begin(List.of(List.of(resume))).get(0);
    assertTrue(registry.store.ends.isEmpty());
    while (!store.isEmpty()) {
      assertFalse(begun.isDone());
      store.remove().run();
    }
    assertTrue(granted(begun.join().get(0)).get(0).resumed());
    assertEquals(1, registry.store.ends.size());
  }

  /** Rule L15: nobody hears that a lease is revoked before that is kept. */
  @Test
  void l15_aRevocationIsKeptFirst() throws Exception {
    Grant grant = rig.acquire("a");
    var revoke = new Operation.Revoke(Rig.names("a").get(0), "test", Optional.empty());
    assertInstanceOf(Outcome.Revoked.class, later(revoke));
    assertEquals(1, registry.store.revocations.size());
    assertEquals(Reason.NOT_HELD, refused(now(renew(grant)).get(0)));
  }

  /** Those that need the store don't hold up other requests. */
  @Test
  void otherRequestsAreCarriedOutMeanwhile() throws Exception {
    Grant held = rig.acquire("held");
    Grant expires = rig.acquire("e");
    time.advanceMs(LEASE_MS / 2);
    Grant renewed = rig.renew(held, LeaseReport.NOTHING);
    time.advanceMs(LEASE_MS / 2);
    assertTrue(expires.expiry() <= time.wallNanos());
    List<CompletableFuture<List<Outcome>>> begun =
        begin(
            List.of(acquire(rig.request("e"))),
            List.of(acquire(rig.request("held")), renew(renewed)),
            List.of(release(held)));
    assertEquals(List.of(false, true, true), begun.stream().map(Future::isDone).toList());
    assertEquals(Reason.HELD, refused(begun.get(1).join().get(0)));
    assertReleased(begun.get(2).join().get(0));
    answer();
    assertEquals("e", granted(begun.get(0).join().get(0)).get(0).name().value());
  }

  /** The operations of a request are carried out in their order, whoever carries them out. */
  @Test
  void whatStandsBehindOneThatNeedsTheStoreWaitsToo() throws Exception {
    Grant expires = rig.acquire("a");
    time.advanceMs(LEASE_MS / 2);
    Grant other = rig.acquire("b");
    time.advanceMs(LEASE_MS / 2);
    assertTrue(expires.expiry() <= time.wallNanos());
    Operation.Acquire again = rig.request("a"); // which has to be ended in the store first
    List<Outcome> outcomes =
        later(
            List.of(
                renew(other),
                acquire(again),
                new Operation.Renew(again.id(), LEASE_MS, LogSet.NONE, LeaseReport.NOTHING),
                new Operation.Release(again.id(), LeaseReport.NOTHING)));
    assertEquals(1, granted(outcomes.get(0)).size());
    assertEquals(1, granted(outcomes.get(1)).size());
    assertEquals(1, granted(outcomes.get(2)).size());
    assertReleased(outcomes.get(3));
  }

  /** What can't be done in the store is refused, and what stands behind it goes on. */
  @Test
  void aStoreThatFailsRefusesWhatNeedsItAlone() throws Exception {
    Grant held = rig.acquire("held");
    Grant expires = rig.acquire("a");
    time.advanceMs(LEASE_MS / 2);
    Grant renewed = rig.renew(held, LeaseReport.NOTHING);
    time.advanceMs(LEASE_MS / 2);
    assertTrue(expires.expiry() <= time.wallNanos());
    registry.broken = true;
    List<Outcome> outcomes = later(List.of(acquire(rig.request("a")), release(renewed)));
    assertEquals(Reason.NOT_YET, refused(outcomes.get(0)));
    assertReleased(outcomes.get(1));
  }

  /** As many refusals one after the other take no more of the stack than one. */
  @Test
  void aLongRequestIsRefusedWhileTheStoreHangs() throws Exception {
    var store = new FakeRegistry(new FakeRegistry.Store());
    var refusing =
        new Rig(
            time,
            store,
            task -> {
              throw new RejectedExecutionException("hangs");
            });
    List<Operation> wanted =
        IntStream.range(0, LeaseService.MAX_OPERATIONS)
            .<Operation>mapToObj(i -> refusing.request("n" + i))
            .toList();
    var thread = new AtomicReference<Throwable>();
    var asks =
        new Thread(
            null,
            () ->
                refusing
                    .service
                    .begin(List.of(wanted))
                    .get(0)
                    .join()
                    .forEach(each -> assertEquals(Reason.NOT_YET, refused(each))),
            "a small stack",
            128 << 10);
    asks.setUncaughtExceptionHandler((t, e) -> thread.set(e));
    asks.start();
    asks.join();
    assertNull(thread.get());
  }

  /** Rule L3: who waits for single leases holds up no ceiling, without which others lose theirs. */
  @Test
  void l3_ceilingsComeBeforeWhatConcernsSingleLeases() throws Exception {
    Grant expires = rig.acquire("a");
    time.advanceMs(LEASE_MS / 2);
    Grant held = rig.acquire("b");
    time.advanceMs(LEASE_MS / 2);
    Grant renewed = rig.renew(held, LeaseReport.NOTHING);
    assertTrue(expires.expiry() <= time.wallNanos());
    Operation longer =
        new Operation.Renew(
            renewed.id(),
            ServiceInstance.DEFAULT_LONGEST_LEASE_MS,
            LogSet.NONE,
            LeaseReport.NOTHING);
    List<CompletableFuture<List<Outcome>>> begun =
        begin(List.of(acquire(rig.request("a"))), List.of(longer));
    waiting.remove().run();
    assertEquals(List.of(false, true), begun.stream().map(Future::isDone).toList());
    assertEquals(1, granted(begun.get(1).join().get(0)).size());
    // Where the first of them waits for too long others are refused at once.
    time.advanceNanos(Publisher.HANGS_AFTER);
    Operation another = acquire(rig.request("a"));
    assertEquals(Reason.NOT_YET, refused(now(another).get(0)));
    answer();
    assertEquals(1, granted(begun.get(0).join().get(0)).size());
  }

  /** Whoever has given up is told that it was not done: so it is not. */
  @Test
  void l15_nothingIsDoneForWhoeverHasGivenUp() throws Exception {
    var clock = new SignedClock(time);
    Publisher publisher =
        Publisher.start(registry, true, MS, MS, clock, clock.read(), 0, waiting::add);
    var met = new AtomicBoolean();
    var needed =
        new StoreCalls.StoreNeededException(
            StoreCalls.StoreNeededException.Kind.LEASES, store -> met.set(true));
    boolean unused = publisher.meet(needed).cancel(false);
    answer();
    assertFalse(met.get());
  }

  /** What is kept when whoever asked has just given up counts here at once all the same. */
  @Test
  void l15_aRevocationThatIsKeptLateCountsAtOnce() throws Exception {
    Grant expires = rig.acquire("a");
    Grant grant = rig.acquire("b");
    Grant held =
        rig.service.renew(
            grant.id(), ServiceInstance.DEFAULT_LONGEST_LEASE_MS, LogSet.NONE, LeaseReport.NOTHING);
    time.advanceMs(LEASE_MS);
    assertTrue(expires.expiry() <= time.wallNanos());
    Operation revoke = new Operation.Revoke(Rig.names("b").get(0), "test", Optional.empty());
    CompletableFuture<List<Outcome>> begun =
        begin(List.of(acquire(rig.request("a")), revoke)).get(0);
    time.advanceMs(10_000 - 1); // of ten seconds that the request waits in all
    registry.whileKeeping =
        () -> {
          while (!begun.isDone()) {
            Thread.onSpinWait();
          }
        };
    answer();
    assertEquals(Reason.NOT_YET, refused(begun.join().get(1)));
    assertEquals(1, registry.store.revocations.size());
    assertEquals(Reason.NOT_HELD, refused(now(renew(held)).get(0)));
  }

  /** Rule L3: a ceiling that was published for a lease is followed by none if nothing else is. */
  @Test
  void l3_aLeaseThatIsGivenBackAtOnceHasOneCeiling() throws Exception {
    registry.whileChecking = () -> time.advanceMs(1);
    Grant grant = rig.acquire("a");
    rig.service.release(grant.id(), LeaseReport.NOTHING);
    for (int i = 0; i < 20; i++) {
      time.advanceMs(1_000);
      rig.service.maintain();
    }
    assertEquals(1, registry.count("publish"));
  }

  /** What comes behind a thousand witnesses would wait for them: others get their turn before. */
  @Test
  void nothingIsBegunBehindAThousandWitnesses() throws Exception {
    String[] thousand = IntStream.range(0, 1_000).mapToObj(i -> "n" + i).toArray(String[]::new);
    Operation renewal = renew(rig.acquire(thousand));
    Operation other = acquire(rig.request("other"));
    var requests = List.of(List.of(other), List.of(renewal), List.of(renewal), List.of(other));
    assertEquals(2, rig.service.begin(requests).size());
    assertEquals(1, rig.service.begin(requests.subList(2, 4)).size());
    assertEquals(1, rig.service.begin(requests.subList(3, 4)).size());
  }

  @Test
  void ofNoOperationsThereAreNoOutcomes() throws Exception {
    assertEquals(List.of(), rig.service.carryOut(List.of()));
    assertEquals(List.of(), rig.service.begin(List.of()));
  }

  private static void assertReleased(Outcome outcome) {
    assertEquals(Outcome.Released.class, outcome.getClass());
  }
}
