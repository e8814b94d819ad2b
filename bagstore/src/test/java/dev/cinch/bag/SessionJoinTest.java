package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.model.Durability;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.bag.write.PendingReceipt;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo.State;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Witness;
import dev.cinch.lease.hold.LeaseKeeper;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** Rule L2 where several processes write under one grant. */
final class SessionJoinTest extends SessionRig {
  private Session session(Store store) {
    return Session.open(
        new Writers(store, Durability.SYNC), service, "tester", LeaseKeeper.stepped(rig.time));
  }

  private Witness shown() throws LeaseUnavailableException {
    return service.show(NAME).orElseThrow().witness();
  }

  @Test
  void l2_whoJoinsWritesUnderTheSameLeaseAndSaysHowFarItCame() throws Exception {
    Grant grant = acquire("head");
    Store store = store("m1");
    Session one = session(store);
    Session two = session(store);
    assertEquals(grant.id(), one.join(grant.id(), 1, LEASE).id());
    assertEquals(grant.id(), two.join(grant.id(), 1, LEASE).id());
    Log jobs = store.log(Rig.JOBS);
    long first = committed(one.append(jobs, bytes("a"))).timestamp();
    rig.time.advanceMs(5);
    assertEquals(new Session.Left(OptionalLong.of(first), 1), one.leave());
    long second = committed(two.append(jobs, bytes("b"))).timestamp();
    assertEquals(new Session.Left(OptionalLong.of(second), 1), two.leave());
    assertThrows(MessageRefusedException.class, () -> two.append(jobs, bytes("c")));
    service.release(grant.id(), new LeaseReport(OptionalLong.of(second), false, List.of()).to(1));
    assertEquals(second, acquire("next").witnesses().get(0).witness().watermark().timestamp());
  }

  @Test
  void l2_whoJoinedNeverGivesTheLeasesBack() throws Exception {
    Grant grant = acquire("head");
    Store store = store("m1");
    Session session = session(store);
    session.join(grant.id(), 1, LEASE);
    var unused = committed(session.append(store.log(Rig.JOBS), bytes("a")));
    session.close();
    assertEquals(State.HELD, service.show(NAME).orElseThrow().state());
    Session another = session(store);
    another.join(grant.id(), 1, LEASE);
    assertTrue(another.release());
    assertEquals(State.HELD, service.show(NAME).orElseThrow().state());
  }

  @Test
  void l8_whoJoinsFencesBeforeItWrites() throws Exception {
    Grant lost = acquire("lost");
    rig.time.advanceMs(LEASE.toMillis() + 1);
    Grant grant = acquire("head");
    assertFalse(shown().fence().isNone());
    Store store = store("m1");
    Session session = session(store);
    session.join(grant.id(), 1, LEASE);
    Log jobs = store.log(Rig.JOBS);
    assertTrue(jobs.horizon().chain().freshTip().orElseThrow().record().to() >= lost.expiry());
    assertTrue(shown().fence().isNone(), "it says so");
    assertTrue(committed(session.append(jobs, bytes("a"))).timestamp() > lost.expiry());
  }

  @Test
  void whatIsNotHeldCanNotBeJoined() throws Exception {
    Store store = store("m1");
    Session session = session(store);
    assertThrows(LeaseRefusedException.class, () -> session.join(new Id(0, 9), 1, LEASE));
    Grant grant = acquire("head");
    service.release(grant.id(), LeaseReport.NOTHING);
    assertThrows(LeaseRefusedException.class, () -> session.join(grant.id(), 1, LEASE));
  }

  /** One that was killed may have left what nobody knows the fate of. */
  @Test
  void whatOthersWroteUnderASharedGrantCanBeSettled() throws Exception {
    Grant grant = acquire("head");
    Store store = store("m1");
    Session killed = session(store);
    killed.join(grant.id(), 1, LEASE);
    long last = committed(killed.append(store.log(Rig.JOBS), bytes("a"))).timestamp();
    Store other = store("m2");
    Session session = session(other);
    session.join(grant.id(), 1, LEASE);
    long end = session.settleEarlier(other.log(Rig.JOBS));
    assertTrue(end > last);
    assertTrue(other.log(Rig.JOBS).reader().settledThrough() >= end);
  }

  /** Others renew it meanwhile. What gives it back has to know of all that was written here. */
  @Test
  void l14_whatWasWrittenBeforeLeasesLapsedHereIsToldByWhoLeaves() throws Exception {
    Grant grant = acquire("head");
    Store store = store("m1");
    assertThrows(IllegalStateException.class, () -> session(store).leave());
    Session lapsing = session(store);
    lapsing.join(grant.id(), 1, LEASE);
    long wrote = committed(lapsing.append(store.log(Rig.JOBS), bytes("a"))).timestamp();
    for (int i = 0; i < 2; i++) {
      rig.time.advanceMs(LEASE.toMillis() / 2 + 1);
      Grant unused =
          service.renew(grant.id(), LEASE.toMillis(), LogSet.NONE, LeaseReport.NOTHING.to(1));
    }
    assertThrows(
        MessageRefusedException.class, () -> lapsing.append(store.log(Rig.JOBS), bytes("b")));
    assertTrue(lapsing.dropLost());
    lapsing.join(grant.id(), 1, LEASE);
    assertEquals(new Session.Left(OptionalLong.of(wrote), 1), lapsing.leave());
  }

  @Test
  void l14_whoLeavesHasTheVerdictOfEveryAppend() throws Exception {
    Grant grant = acquire("head");
    Store store = store("m1");
    Session session = session(store);
    session.join(grant.id(), 1, LEASE);
    byte[] text = bytes("a");
    PendingReceipt pending = session.submit(store.log(Rig.JOBS), text, 0, text.length, false);
    assertFalse(pending.isDone());
    assertEquals(OptionalLong.of(pending.timestamp()), session.leave().highest());
    assertTrue(pending.isDone());
  }

  @Test
  void l14_leasesThatLapsedAndWereNotJoinedAgainAreLeftToo() throws Exception {
    Grant grant = acquire("head");
    Store store = store("m1");
    Session session = session(store);
    session.join(grant.id(), 1, LEASE);
    long wrote = committed(session.append(store.log(Rig.JOBS), bytes("a"))).timestamp();
    rig.time.advanceMs(LEASE.toMillis() + 1);
    assertTrue(session.dropLost());
    assertEquals(new Session.Left(OptionalLong.of(wrote), 1), session.leave());
  }

  @Test
  void leasesThatWereLostCanBeTakenAnew() throws Exception {
    Store store = store("m1");
    Session session = session(store);
    Log jobs = store.log(Rig.JOBS);
    session.acquire(NAMES, LEASE);
    long before = committed(session.append(jobs, bytes("a"))).timestamp();
    assertFalse(session.dropLost());
    rig.time.advanceMs(LEASE.toMillis() + 1);
    assertThrows(MessageRefusedException.class, () -> session.append(jobs, bytes("b")));
    assertTrue(session.dropLost());
    session.acquire(NAMES, LEASE);
    assertTrue(committed(session.append(jobs, bytes("b"))).timestamp() > before);
    assertEquals(2, shown().generation());
    assertTrue(session.end());
    assertEquals(State.RELEASED, service.show(NAME).orElseThrow().state());
  }
}
