package dev.cinch.bag.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.bag.Rig;
import dev.cinch.bag.Store;
import dev.cinch.lease.LeaseReport;
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
}
