package dev.cinch.lease.cell.paxos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.cell.Acceptor;
import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Ballot.Ballots;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Message.Accept;
import dev.cinch.lease.cell.Message.Accepted;
import dev.cinch.lease.cell.Message.Learn;
import dev.cinch.lease.cell.Message.Memory;
import dev.cinch.lease.cell.Message.Prepare;
import dev.cinch.lease.cell.Message.Promise;
import dev.cinch.lease.cell.Message.Query;
import dev.cinch.lease.cell.Message.Reject;
import dev.cinch.lease.cell.Message.Told;
import dev.cinch.lease.cell.PaxosLease;
import dev.cinch.lease.cell.Proposer;
import dev.cinch.lease.cell.RulesRig;
import dev.cinch.lease.cell.Step;
import dev.cinch.lease.cell.Table.Sent;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Rules P1 to P9 in PaxosLease, message by message. All clocks show the same. */
final class PaxosLeaseRulesTest extends RulesRig {
  private static final PaxosLease DURATIONS = new PaxosLease(LONGEST, 0, KEEP);

  PaxosLeaseRulesTest() {
    for (int i = 0; i < 3; i++) {
      acceptors.add(DURATIONS.acceptor(1, 0, false));
    }
    now = LONGEST; // the acceptors' quarantine is over
  }

  @Override
  protected Proposer proposer(Ballots ballots) {
    return DURATIONS.proposer(CELL, ballots, NAME, RESEND);
  }

  @Override
  protected Acceptor fresh() {
    return DURATIONS.acceptor(2, now, false);
  }

  @Override
  protected long quarantine() {
    return LONGEST;
  }

  @Override
  protected long epsilon() {
    return 0;
  }

  @Test
  void aLeaseIsGrantedForItsTimeAndExcludesOthers() {
    long start = now;
    var granted = assertInstanceOf(Step.Granted.class, get(p, 0, 1, 2));
    assertEquals(start + LONGEST, granted.until());
    now += LONGEST - 1;
    assertTrue(p.holds(now));
    var held = assertInstanceOf(Step.Held.class, get(q, 0, 1, 2));
    assertEquals(5, held.lease().ballot().node());
    assertEquals(1, held.retryAfterNanos());
    now++;
    assertFalse(p.holds(now));
    assertInstanceOf(Step.Granted.class, get(q, 0, 1, 2));
  }

  @Test
  void p2_theTimeCountsFromBeforeTheFirstMessageAndIsCheckedInEveryHandler() {
    p.acquire(now, LONGEST, 2 * LONGEST, table.from(5));
    long end = now + LONGEST;
    now += LONGEST / 2;
    toAcceptors(0, 1);
    var found = assertInstanceOf(Step.Found.class, back(p));
    p.propose(found, VALUE, now, table.from(5));
    toAcceptors(0, 1);
    List<Sent> accepted = table.take(Accepted.class);
    assertEquals(2, accepted.size());
    table.give(p, 5, now, accepted.subList(0, 1));
    now = end;
    assertInstanceOf(Step.Indeterminate.class, table.give(p, 5, now, accepted.subList(1, 2)));
    assertFalse(p.holds(now));
  }

  @Test
  void p3_aLiveLeaseIsNotReplacedByAnotherOwnerWithAHigherBallot() {
    get(p, 0, 1, 2);
    Ballot higher = new Ballot(99, 1, 6);
    acceptors.get(0).receive(6, new Prepare(NAME, higher), now, table.from(0));
    var promise = (Promise) table.take(Promise.class).get(0).message();
    assertTrue(promise.memory().live());
    acceptors
        .get(0)
        .receive(6, new Accept(NAME, higher, promise.pledge(), LONGEST, VALUE), now, table.from(0));
    assertEquals(1, table.take(Reject.class).size());
    assertEquals(p.ballot(), told(0).ballot());
    Ballot later = new Ballot(99, 2, 5);
    acceptors
        .get(0)
        .receive(5, new Accept(NAME, later, promise.pledge(), LONGEST, VALUE), now, table.from(0));
    assertEquals(p.ballot(), told(0).ballot(), "the same node, started again, is another owner");
  }

  @Test
  void p4_ballotsAreAboveAllMetAndOfThisStart() {
    acceptors.get(0).receive(6, new Prepare(NAME, new Ballot(70, 1, 6)), now, table.from(0));
    acceptors.get(1).receive(6, new Prepare(NAME, new Ballot(70, 1, 6)), now, table.from(1));
    table.sent.clear();
    assertEquals(new Step.Outbid(new Ballot(70, 1, 6)), get(p, 0, 1, 2));
    var granted = assertInstanceOf(Step.Granted.class, get(p, 0, 1, 2));
    assertEquals(new Ballot(71, 1, 5), granted.ballot());
  }

  @Test
  void p4_aNewProposerOfANodeGoesOnWithItsBallots() {
    var ballots = new Ballots(5, 3);
    Proposer first = DURATIONS.proposer(CELL, ballots, NAME, RESEND);
    first.acquire(now, LONGEST, LONGEST, table.from(5));
    Proposer second = DURATIONS.proposer(CELL, ballots, NAME, RESEND);
    second.acquire(now, LONGEST, LONGEST, table.from(5));
    assertEquals(
        List.of(new Ballot(1, 3, 5), new Ballot(2, 3, 5)),
        table.sent.stream().map(s -> ((Prepare) s.message()).ballot()).distinct().toList());
  }

  @Test
  void p5_clocksThatAreOffMakeQuarantineAndLeasesLonger() {
    var durations = new PaxosLease(LONGEST, 50_000, KEEP);
    Acceptor slow = durations.acceptor(1, 0, false);
    assertTrue(slow.quarantinedUntil() >= LONGEST / 95 * 105);
    now = slow.quarantinedUntil();
    Ballot ballot = new Ballot(1, 1, 5);
    slow.receive(5, new Prepare(NAME, ballot), now, table.from(0));
    long pledge = ((Promise) table.take(Promise.class).get(0).message()).pledge();
    slow.receive(5, new Accept(NAME, ballot, pledge, LONGEST, VALUE), now, table.from(0));
    table.sent.clear();
    slow.receive(5, new Query(NAME), now + LONGEST, table.from(0));
    Memory memory = ((Told) table.take(Told.class).get(0).message()).memory();
    assertTrue(memory.live());
    assertTrue(memory.nanos() >= LONGEST / 95 * 105 - LONGEST, memory.toString());
  }

  @Test
  void p6_learnersHearOfLeasesAndTheirEnds() {
    p.acquire(now, LONGEST, LONGEST, table.from(5));
    toAcceptors(0, 1, 2);
    var found = assertInstanceOf(Step.Found.class, back(p));
    p.propose(found, VALUE, now, table.from(5));
    toAcceptors(0, 1, 2);
    back(p);
    assertEquals(
        new Learn(NAME, p.ballot(), LONGEST, VALUE), table.take(Learn.class).get(0).message());
    p.release(now, table.from(5));
    assertEquals(
        new Learn(NAME, p.ballot(), 0, Bytes.EMPTY), table.take(Learn.class).get(0).message());
  }

  @Test
  void p8_exactlyAtItsEndALeaseIsAnEmptyVote() {
    get(p, 0, 1, 2);
    now = p.heldUntil();
    assertFalse(p.holds(now));
    q.acquire(now, LONGEST, LONGEST, table.from(6));
    toAcceptors(0, 1);
    var found = assertInstanceOf(Step.Found.class, back(q));
    assertTrue(found.remembered());
    assertEquals(List.of(Memory.State.EXPIRED), found.lasts().stream().map(Memory::state).toList());
    assertEquals(VALUE, found.lasts().get(0).value());
  }

  @Test
  void anAcceptorThatPromisesLateIsToldWhatWasGranted() {
    p.acquire(now, LONGEST, LONGEST, table.from(5));
    List<Sent> late = table.take(Prepare.class, 2);
    toAcceptors(0, 1);
    p.propose(assertInstanceOf(Step.Found.class, back(p)), VALUE, now, table.from(5));
    toAcceptors(0, 1);
    assertInstanceOf(Step.Granted.class, back(p));
    assertFalse(p.isKnownByAll());
    table.give(acceptors.get(2), 2, now, late);
    back(p);
    toAcceptors(2);
    back(p);
    assertTrue(p.isKnownByAll());
    assertEquals(VALUE, told(2).value());
    assertTrue(told(2).live());
  }

  @Test
  void anAcceptorThatPromisesAfterTheReleaseIsToldNothing() {
    p.acquire(now, LONGEST, LONGEST, table.from(5));
    List<Sent> late = table.take(Prepare.class, 2);
    toAcceptors(0, 1);
    p.propose(assertInstanceOf(Step.Found.class, back(p)), VALUE, now, table.from(5));
    toAcceptors(0, 1);
    assertInstanceOf(Step.Granted.class, back(p));
    p.release(now, table.from(5));
    assertTrue(p.isKnownByAll());
    table.give(acceptors.get(2), 2, now, late);
    back(p);
    assertEquals(List.of(), table.take(Accept.class));
  }

  @Test
  void p5_anAcceptorOfANewCellIsNotSilentAndHasForgottenNothing() {
    acceptors.set(0, DURATIONS.acceptor(1, now, true));
    assertEquals(now, acceptors.get(0).quarantinedUntil());
    assertEquals(Memory.forgotten(KEEP), told(0));
    acceptors.set(0, DURATIONS.acceptor(2, now, false));
    now += DURATIONS.quarantine();
    assertEquals(Memory.forgotten(0), told(0));
  }

  @Test
  void whatAnAcceptorForgotIsSaidAndForHowLong() {
    var first = assertInstanceOf(Step.Granted.class, get(p, 0, 1));
    now = first.until() + KEEP - 1;
    assertEquals(0, acceptors.get(0).sweep(now, 100));
    assertEquals(Memory.State.EXPIRED, told(0).state());
    now++;
    assertEquals(1, acceptors.get(0).sweep(now, 100));
    assertEquals(0, acceptors.get(0).size());
    assertEquals(Memory.forgotten(KEEP), told(0));
    q.acquire(now, LONGEST, LONGEST, table.from(6));
    toAcceptors(0, 1);
    var found = assertInstanceOf(Step.Found.class, back(q));
    assertFalse(found.remembered(), "acceptor 1 alone remembers");
    assertEquals(KEEP, found.quietNanos());
    assertEquals(1, found.lasts().size());
  }

  @Test
  void anAttemptThatIsOverExcludesNobodyAndHidesNothing() {
    p.acquire(now, LONGEST, LONGEST, table.from(5));
    toAcceptors(0, 1);
    var found = assertInstanceOf(Step.Found.class, back(p));
    p.propose(found, VALUE, now, table.from(5));
    List<Sent> late = table.take(Accept.class);
    now += 2 * LONGEST;
    table.give(acceptors.get(0), 0, now, late);
    assertFalse(told(0).known());
    Acceptor again = DURATIONS.acceptor(2, now - 3 * LONGEST, false);
    table.give(again, 0, now - 2 * LONGEST, late);
    assertEquals(0, again.size(), "promised before its start");
  }

  @Test
  void messagesAreSentAgainToThoseWhoDidNotAnswer() {
    p.acquire(now, LONGEST, LONGEST, table.from(5));
    Proposer often = DURATIONS.proposer(CELL, new Ballots(6, 1), NAME, LONGEST / 10);
    table.sent.clear();
    often.acquire(now, LONGEST, LONGEST, table.from(6));
    toAcceptors(0);
    table.take(Prepare.class);
    table.give(often, 6, now, table.take(Promise.class));
    assertEquals(now + LONGEST / 10, often.wakeAt());
    now = often.wakeAt();
    often.wake(now, table.from(6));
    assertEquals(List.of(1, 2), table.sent.stream().map(Sent::to).toList());
  }

  /** Another attempt was in the way at acceptor 0 for a moment, and acceptor 2 is down. */
  @Test
  void whatWasInTheWayIsLookedAtAnewWhereAnAcceptorIsSilent() {
    get(p, 0);
    Proposer often = DURATIONS.proposer(CELL, new Ballots(6, 1), NAME, LONGEST / 10);
    p.acquire(now, LONGEST, LONGEST, table.from(5));
    toAcceptors(0);
    back(p);
    table.sent.clear();
    often.acquire(now, LONGEST, LONGEST, table.from(6));
    toAcceptors(0, 1);
    List<Sent> answers = List.copyOf(table.sent);
    assertInstanceOf(Step.Pending.class, table.give(often, 6, now, answers));
    table.sent.clear();
    now = often.wakeAt();
    assertInstanceOf(Step.Outbid.class, often.wake(now, table.from(6)));
    assertInstanceOf(Step.Pending.class, often.wake(now, table.from(6)));
    often.acquire(now, LONGEST, LONGEST, table.from(6));
    toAcceptors(0, 1);
    assertInstanceOf(Step.Found.class, table.give(often, 6, now, table.take(Promise.class)));
  }

  /** The same after it was proposed: acceptor 0 has accepted it, 1 was outbid, and 2 is down. */
  @Test
  void whatIsAcceptedByTooFewIsGivenUpWhereAnAcceptorIsSilent() {
    Proposer often = DURATIONS.proposer(CELL, new Ballots(6, 1), NAME, LONGEST / 10);
    get(p, 2); // so that its next ballot is higher
    table.sent.clear();
    often.acquire(now, LONGEST, LONGEST, table.from(6));
    toAcceptors(0, 1);
    var found =
        assertInstanceOf(Step.Found.class, table.give(often, 6, now, table.take(Promise.class, 6)));
    table.sent.clear();
    p.acquire(now, LONGEST, LONGEST, table.from(5));
    toAcceptors(1);
    table.sent.clear();
    often.propose(found, VALUE, now, table.from(6));
    toAcceptors(0, 1);
    List<Sent> answers = List.copyOf(table.sent);
    table.sent.clear();
    assertInstanceOf(Step.Pending.class, table.give(often, 6, now, answers));
    assertTrue(told(0).live());
    table.sent.clear();
    now = often.wakeAt();
    assertInstanceOf(Step.Outbid.class, often.wake(now, table.from(6)));
    toAcceptors(0);
    table.sent.clear();
    assertFalse(told(0).live(), "nobody waits for it");
  }

  /** The same with a lease that acceptor 0 alone has. */
  @Test
  void aLeaseThatIsInTheWayIsToldWhereAnAcceptorIsSilent() {
    p.acquire(now, LONGEST, LONGEST, table.from(5));
    toAcceptors(0, 1);
    var found = assertInstanceOf(Step.Found.class, back(p));
    propose(p, found);
    toAcceptors(0);
    table.sent.clear();
    Proposer often = DURATIONS.proposer(CELL, new Ballots(6, 1), NAME, LONGEST / 10);
    often.acquire(now, LONGEST, LONGEST, table.from(6));
    toAcceptors(0, 1);
    assertInstanceOf(Step.Pending.class, table.give(often, 6, now, table.take(Promise.class)));
    now = often.wakeAt();
    Step step = often.wake(now, table.from(6));
    var held = assertInstanceOf(Step.Held.class, step);
    assertEquals(5, held.lease().ballot().node());
  }

  @Test
  void misuseIsRefused() {
    assertThrows(
        IllegalArgumentException.class, () -> p.acquire(now, LONGEST + 1, LONGEST, table.from(5)));
    assertThrows(IllegalStateException.class, () -> p.renew(now, LONGEST, LONGEST, table.from(5)));
    get(p, 0, 1, 2);
    assertThrows(
        IllegalStateException.class, () -> p.acquire(now, LONGEST, LONGEST, table.from(5)));
    assertThrows(IllegalArgumentException.class, () -> new PaxosLease(0, 0, 0));
    assertThrows(IllegalArgumentException.class, () -> new Ballot(-1, 0, 0));
  }
}
