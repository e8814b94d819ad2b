package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.hold.HeldLease;
import dev.cinch.lease.hold.LeaseKeeper;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Sessions whose request for leases waited in the service's queue. */
class QueuedSessionTest extends SessionRig {
  /** Rule L5: the deadline counts from before the request, which is long over. */
  @Test
  void l5_leasesThatWereWaitedForLongerThanTheyLastAreRenewedBeforeTheyAreUsed() throws Exception {
    Store store = store("a");
    var earlier = acquire("b");
    try (Session session = Session.open(store, service, "a")) {
      session.acquire(
          NAMES,
          LEASE,
          (service, request) -> {
            rig.time.advanceMs(9_000);
            service.release(earlier.id(), LeaseReport.NOTHING);
            rig.time.advanceMs(51_000);
            return service.acquire(request);
          });
      committed(session.append(store.log(Rig.JOBS), bytes("a")));
    }
  }

  /** Nobody would give back a grant that was on its way. */
  @Test
  void aWaitThatIsGivenUpIsReleased() throws Exception {
    try (Session session = Session.open(store("a"), service, "a")) {
      assertThrows(
          InterruptedException.class,
          () ->
              session.acquire(
                  NAMES,
                  LEASE,
                  (service, request) -> {
                    assertEquals(1, service.acquire(request).witnesses().size());
                    throw new InterruptedException("stopped");
                  }));
    }
    assertEquals(
        List.of(NAME), acquire("b").witnesses().stream().map(w -> w.witness().name()).toList());
  }

  @Test
  void whoWaitsHasTheLeaseOnceItsHolderIsGone() throws Exception {
    Store store = store("a");
    try (Session session = Session.open(store, service, "a")) {
      var other = acquire("b");
      assertThrows(LeaseRefusedException.class, () -> session.acquire(NAMES, LEASE, Duration.ZERO));
      var refused =
          assertThrows(
              LeaseRefusedException.class,
              () -> session.acquire(NAMES, LEASE, Duration.ofSeconds(2)));
      assertTrue(String.valueOf(refused.getMessage()).endsWith("; waited 2.0 s"));
      assertTrue(session.acquire(NAMES, LEASE, LEASE.multipliedBy(2)).id() != other.id());
      committed(session.append(store.log(Rig.JOBS), bytes("a")));
    }
  }

  /** What a program does that has no store. */
  @Test
  void leasesAreWaitedForAndKeptWithoutAStore() throws Exception {
    var other = acquire("b");
    var lost = new ArrayList<String>();
    try (var keeper = LeaseKeeper.stepped(rig.time)) {
      HeldLease held =
          keeper.acquire(
              service, NAMES, "a", LEASE, LEASE.multipliedBy(2), (names, why) -> lost.add(why));
      assertFalse(held.id().equals(other.id()));
      for (int i = 0; i < 20; i++) {
        rig.time.advanceMs(2_000);
        assertTrue(keeper.doWork() > 0);
      }
      assertEquals(HeldLease.State.HELD, held.state());
      held.release(LeaseReport.NOTHING);
      assertEquals(List.of(), lost);
    }
    assertFalse(acquire("c").id().equals(other.id()));
  }
}
