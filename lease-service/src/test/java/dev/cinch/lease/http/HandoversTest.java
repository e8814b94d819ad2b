package dev.cinch.lease.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.Operation;
import dev.cinch.lease.memory.Rig;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Who is granted a name while it is handed over, by clocks that stand still. */
final class HandoversTest {
  private static final LeaseName A = new LeaseName("a");
  private static final long KEEP_MS = 5_000;

  private final Rig rig = new Rig();
  private final Handovers hands = new Handovers(rig.service, rig.time::monotonicNanos);

  @BeforeEach
  void listen() {
    assertTrue(rig.service.listen(hands));
  }

  private Operation.Acquire by(String holder, String... names) {
    Operation.Acquire r = rig.request(names);
    return new Operation.Acquire(r.id(), r.names(), holder, r.durationMs(), r.logs(), false);
  }

  private Optional<String> refusal(String holder, String... names) {
    Optional<LeaseRefusedException> refusal = hands.refusal(by(holder, names));
    refusal.ifPresent(e -> assertEquals(Reason.HELD, e.reason()));
    return refusal.map(Throwable::getMessage);
  }

  private Optional<LeaseDetail.HandTo> shown() throws Exception {
    LeaseInfo lease = rig.service.show(A).orElseThrow();
    return hands.of(lease, rig.service.now());
  }

  @Test
  void aNameIsKeptForItsNextHolderFromTheReleaseOn() throws Exception {
    Grant first = rig.service.acquire(by("first", "a"));
    assertEquals(
        Optional.of("first"), hands.note(A, "next", KEEP_MS).map(i -> i.witness().holder()));
    assertEquals("next", hands.to("a"));
    assertEquals(first.expiry() + KEEP_MS * 1_000_000, shown().orElseThrow().until());
    assertEquals(Optional.of("a is held by \"first\" for another 10000 ms"), refusal("other", "a"));
    assertEquals(Optional.empty(), refusal("first", "a")); // its request may come twice
    assertEquals(Optional.empty(), refusal("next", "a")); // the rules of leases refuse it
    assertEquals(Optional.empty(), refusal("other", "b"));
    rig.time.advanceMs(1_000);
    rig.service.release(first.id(), LeaseReport.NOTHING);
    rig.time.advanceMs(1_000);
    String kept = "a is kept for \"next\" for another 4000 ms, who was handed it";
    assertEquals(Optional.of(kept), refusal("other", "a"));
    assertEquals(Optional.of(kept), refusal("other", "b", "a"));
    assertEquals(Optional.of(kept), refusal("first", "a"));
    assertEquals(rig.service.now() + 4_000_000_000L, shown().orElseThrow().until());
    Grant next = rig.service.acquire(by("next", "a"));
    assertTrue(hands.isEmpty());
    rig.service.release(next.id(), LeaseReport.NOTHING);
    assertEquals(Optional.empty(), refusal("other", "a"));
  }

  @Test
  void itIsKeptNoLonger() throws Exception {
    Grant first = rig.service.acquire(by("first", "a"));
    assertTrue(hands.note(A, "next", KEEP_MS).isPresent());
    rig.service.release(first.id(), LeaseReport.NOTHING);
    rig.time.advanceMs(KEEP_MS - 1);
    assertTrue(refusal("other", "a").isPresent());
    rig.time.advanceMs(1);
    assertEquals(Optional.empty(), shown());
    assertEquals(Optional.empty(), refusal("other", "a"));
    assertTrue(hands.isEmpty());
  }

  /** Nobody tells of that: it counts from the end of the lease, whoever asks when. */
  @Test
  void aHolderThatDiesKeepsNobodyWaitingForLonger() throws Exception {
    Grant unused = rig.service.acquire(by("first", "a"));
    assertTrue(hands.note(A, "next", KEEP_MS).isPresent());
    rig.time.advanceMs(Rig.LEASE_MS + 2_000);
    assertEquals(
        Optional.of("a is kept for \"next\" for another 3000 ms, who was handed it"),
        refusal("other", "a"));
    rig.time.advanceMs(3_000);
    assertEquals(Optional.empty(), refusal("other", "a"));
    assertTrue(hands.isEmpty());
  }

  @Test
  void onlyAFullLeaseThatIsHeldIsHandedOver() throws Exception {
    assertEquals(Optional.empty(), hands.note(A, "next", KEEP_MS));
    Operation.Acquire r = rig.request("a");
    var tentative =
        new Operation.Acquire(r.id(), r.names(), "first", r.durationMs(), r.logs(), true);
    Grant grant = rig.service.acquire(tentative);
    assertEquals(Optional.empty(), hands.note(A, "next", KEEP_MS));
    rig.service.release(grant.id(), LeaseReport.NOTHING);
    assertEquals(Optional.empty(), hands.note(A, "next", KEEP_MS));
    assertTrue(hands.isEmpty());
  }

  /** A wish for a name that is kept already does not end that. */
  @Test
  void whatIsKeptStaysSo() throws Exception {
    Grant first = rig.service.acquire(by("first", "a"));
    assertTrue(hands.note(A, "next", KEEP_MS).isPresent());
    rig.service.release(first.id(), LeaseReport.NOTHING);
    assertEquals(Optional.empty(), hands.note(A, "other", KEEP_MS));
    assertTrue(refusal("other", "a").isPresent());
  }

  @Test
  void theLastWishCountsAndThePresentHolderTakesItBack() throws Exception {
    Grant unused = rig.service.acquire(by("first", "a"));
    assertTrue(hands.note(A, "next", KEEP_MS).isPresent());
    assertTrue(hands.note(A, "other", KEEP_MS).isPresent());
    assertEquals("other", hands.to("a"));
    assertTrue(hands.note(A, "first", KEEP_MS).isPresent());
    assertNull(hands.to("a"));
    assertTrue(hands.isEmpty());
  }

  /** A lease that was revoked is still held; renewals and upgrades change nothing either. */
  @Test
  void aRenewalOrARevocationIsNoEnd() throws Exception {
    Grant first = rig.service.acquire(by("first", "a", "b"));
    assertTrue(hands.note(A, "next", KEEP_MS).isPresent());
    var unused =
        rig.service.renew(
            first.id(), Rig.LEASE_MS, dev.cinch.lease.LogSet.NONE, LeaseReport.NOTHING);
    var unused2 = rig.service.revoke(new Operation.Revoke(A, "it hangs", Optional.empty()));
    assertEquals("next", hands.to("a"));
    assertTrue(refusal("other", "a").orElseThrow().contains("held by \"first\""));
    rig.service.release(first.id(), LeaseReport.NOTHING);
    assertTrue(refusal("other", "a").orElseThrow().contains("kept for"));
    assertEquals(Optional.empty(), refusal("other", "b"));
  }

  @Test
  void soManyAreRememberedAndTheOldestGoes() throws Exception {
    for (int i = 0; i <= Handovers.MOST; i++) {
      Grant unused = rig.service.acquire(by("first", "n" + i));
      assertTrue(hands.note(new LeaseName("n" + i), "next", KEEP_MS).isPresent());
    }
    assertNull(hands.to("n0"));
    assertEquals("next", hands.to("n1"));
    assertEquals("next", hands.to("n" + Handovers.MOST));
  }
}
