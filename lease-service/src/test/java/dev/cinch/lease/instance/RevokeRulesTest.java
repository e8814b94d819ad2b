package dev.cinch.lease.instance;

import static dev.cinch.lease.instance.Rig.LEASE_MS;
import static dev.cinch.lease.instance.Rig.LOG_A;
import static dev.cinch.lease.instance.Rig.MS;
import static dev.cinch.lease.instance.Rig.refused;
import static dev.cinch.lease.instance.Rig.wrote;
import static dev.cinch.lease.time.ManualTime.START;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseInfo.State;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.Witness;
import dev.cinch.lease.time.ManualTime;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Rule L15: an operator revokes a lease. */
final class RevokeRulesTest {
  private static final LeaseName A = new LeaseName("a");

  private final ManualTime time = new ManualTime();
  private final FakeRegistry.Store store = new FakeRegistry.Store();
  private final FakeRegistry files = new FakeRegistry(store);
  private final Rig rig = new Rig(time, files);

  private Outcome.Revoked revoke(String reason) throws Exception {
    return rig.service.revoke(new Operation.Revoke(A, reason, Optional.empty()));
  }

  private State state() throws LeaseUnavailableException {
    return rig.service.show(A).orElseThrow().state();
  }

  @Test
  void l15_aRevokedLeaseIsNotProlongedAndItsHolderIsToldWhy() throws Exception {
    Grant grant = rig.acquire("a", "b");
    Outcome.Revoked revoked = revoke("its machine hangs");
    assertEquals(only(rig.service.show(A)), revoked.revocation().correlation());
    assertEquals(State.REVOKED, state());
    String why = "the lease on a was revoked: its machine hangs; acquire anew";
    for (int i = 0; i < 2; i++) {
      LeaseRefusedException e =
          refused(
              Reason.NOT_HELD,
              () -> rig.service.renew(grant.id(), LEASE_MS, LogSet.NONE, LeaseReport.NOTHING));
      assertEquals(why, e.getMessage());
      refused(Reason.NOT_HELD, () -> rig.service.upgrade(grant.id(), LEASE_MS));
      time.advanceMs(LEASE_MS); // also once it has expired
    }
  }

  private static Id only(Optional<LeaseInfo> info) {
    return info.orElseThrow().witness().correlation();
  }

  @Test
  void l15_theNameIsGrantedOnlyWhenTheLeaseHasExpiredAndWithItsExpiryAsFence() throws Exception {
    long expiry = Rig.only(rig.acquire("a")).expiry();
    assertEquals(expiry, revoke("why not").expiry());
    time.advanceMs(LEASE_MS - 1);
    refused(Reason.HELD, () -> rig.acquire("a"));
    time.advanceMs(1);
    Witness next = Rig.only(rig.acquire("a"));
    assertEquals(new Fence(expiry, LogSet.of(List.of(LOG_A))), next.fence());
    assertEquals(Ending.BROKEN, next.previousEnding());
  }

  @Test
  void l15_noLaterInstanceResumesIt() throws Exception {
    Grant grant = rig.acquire("a");
    Witness w = Rig.only(grant);
    Outcome.Revoked unused = revoke("away with it");
    assertEquals(1L, store.ends.get(new InstanceRegistry.End(w.correlation(), 1)));
    var later = new Rig(time, new FakeRegistry(store));
    refused(
        Reason.NOT_HELD,
        () -> later.service.resume(new Operation.Resume(grant.id(), grant.witnesses(), LEASE_MS)));
  }

  @Test
  void l15_oneThatWasResumedHereIsNotResumedAgain() throws Exception {
    Grant grant = rig.acquire("a");
    var later = new Rig(time, new FakeRegistry(store));
    var request = new Operation.Resume(grant.id(), grant.witnesses(), LEASE_MS);
    Grant resumed = later.service.resume(request);
    Outcome.Revoked unused =
        later.service.revoke(new Operation.Revoke(A, "again", Optional.empty()));
    time.advanceMs(1);
    refused(Reason.NOT_HELD, () -> later.service.resume(request));
    assertEquals(
        Rig.only(resumed).expiry(), later.service.show(A).orElseThrow().witness().expiry());
  }

  @Test
  void l15_itsHolderMayStillGiveItBack() throws Exception {
    Grant grant = rig.acquire("a");
    Outcome.Revoked unused = revoke("please");
    rig.service.release(grant.id(), wrote(START + 5 * MS));
    Witness next = Rig.only(rig.acquire("a"));
    assertTrue(next.fence().isNone());
    assertEquals(START + 5 * MS, next.watermark().timestamp());
  }

  @Test
  void l15_onlyTheLeaseThatIsMeantIsRevoked() throws Exception {
    Witness first = Rig.only(rig.acquire("a"));
    time.advanceMs(LEASE_MS);
    Witness next = Rig.only(rig.acquire("a"));
    refused(
        Reason.NOT_HELD,
        () ->
            rig.service.revoke(new Operation.Revoke(A, "late", Optional.of(first.correlation()))));
    assertEquals(State.HELD, state());
    Outcome.Revoked unused =
        rig.service.revoke(new Operation.Revoke(A, "meant", Optional.of(next.correlation())));
    assertEquals(State.REVOKED, state());
    refused(
        Reason.NOT_HELD,
        () -> rig.service.revoke(new Operation.Revoke(new LeaseName("b"), "?", Optional.empty())));
  }

  @Test
  void l15_theFirstReasonStaysAndTheSecondRequestIsNoError() throws Exception {
    Witness w = Rig.only(rig.acquire("a"));
    Outcome.Revoked first = revoke("the first");
    time.advanceMs(10);
    assertEquals(first, revoke("the second"));
    assertEquals(first.revocation(), store.revocations.get(w.correlation()));
  }

  @Test
  void l15_withoutTheStoreNothingIsRevoked() throws Exception {
    Grant grant = rig.acquire("a");
    files.broken = true;
    refused(Reason.NOT_YET, () -> revoke("no disk"));
    assertEquals(State.HELD, state());
    files.broken = false;
    Grant renewed = rig.service.renew(grant.id(), LEASE_MS, LogSet.NONE, LeaseReport.NOTHING);
    assertEquals(only(rig.service.show(A)), Rig.only(renewed).correlation());
  }
}
