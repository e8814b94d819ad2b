package dev.cinch.lease.cell.flease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.cell.Acceptor;
import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Ballot.Ballots;
import dev.cinch.lease.cell.Flease;
import dev.cinch.lease.cell.Message.Accept;
import dev.cinch.lease.cell.Message.Accepted;
import dev.cinch.lease.cell.Message.Memory;
import dev.cinch.lease.cell.Message.Prepare;
import dev.cinch.lease.cell.Message.Promise;
import dev.cinch.lease.cell.Message.Reject;
import dev.cinch.lease.cell.Message.Release;
import dev.cinch.lease.cell.Proposer;
import dev.cinch.lease.cell.RulesRig;
import dev.cinch.lease.cell.Step;
import dev.cinch.lease.cell.Table.Sent;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Rules P1 to P9 in Flease, message by message. Clocks show the same where nothing is said. */
final class FleaseRulesTest extends RulesRig {
  private static final long EPSILON = 100 * MS;
  private static final Flease DURATIONS = new Flease(LONGEST, EPSILON, KEEP);
  private static final long START = 7_000_000 * MS;

  FleaseRulesTest() {
    for (int i = 0; i < 3; i++) {
      acceptors.add(DURATIONS.acceptor(1, START, false));
    }
    now = START + DURATIONS.quarantine() + EPSILON; // slow clocks are past the floor, too
  }

  @Override
  protected Proposer proposer(Ballots ballots) {
    return DURATIONS.proposer(CELL, ballots, NAME, RESEND);
  }

  @Override
  protected Acceptor fresh() {
    return DURATIONS.acceptor(1, now, false);
  }

  @Override
  protected long quarantine() {
    return LONGEST + 2 * EPSILON;
  }

  @Override
  protected long epsilon() {
    return EPSILON;
  }

  /** An accept that acceptor 0 is given, with its answer on the table. */
  private void accept(Ballot ballot, long expiry) {
    acceptors
        .get(0)
        .receive(
            ballot.node(), new Accept(NAME, ballot, 0, expiry, VALUE), clock(0), table.from(0));
  }

  private void prepare(int acceptor, Ballot ballot) {
    acceptors
        .get(acceptor)
        .receive(ballot.node(), new Prepare(NAME, ballot), clock(acceptor), table.from(acceptor));
  }

  @Test
  void aLeaseExcludesOthersUntilNoClockCanTakeItForLive() {
    long start = now;
    var granted = assertInstanceOf(Step.Granted.class, get(p, 0, 1, 2));
    assertEquals(start + LONGEST, granted.until());
    now = granted.until() - 1;
    assertTrue(p.holds(now));
    var held = assertInstanceOf(Step.Held.class, get(q, 0, 1, 2));
    assertEquals(5, held.lease().ballot().node());
    assertEquals(EPSILON + 1, held.retryAfterNanos());
    now = granted.until();
    assertFalse(p.holds(now));
    held = assertInstanceOf(Step.Held.class, get(q, 0, 1, 2));
    assertEquals(EPSILON, held.retryAfterNanos(), "algorithm 4: try again then");
    Ballot before = held.lease().ballot();
    now += held.retryAfterNanos();
    assertInstanceOf(Step.Granted.class, get(q, 0, 1, 2));
    assertTrue(before.below(q.ballot()));
  }

  @Test
  void aLeaseIsHeldWhereTheOwnersClockIsBehindByEpsilon() {
    ahead[5] = -EPSILON;
    var granted = assertInstanceOf(Step.Granted.class, get(p, 0, 1, 2));
    now = granted.until() + EPSILON - 1;
    assertTrue(p.holds(clock(5)));
    assertInstanceOf(Step.Held.class, get(q, 0, 1, 2));
    now++;
    assertFalse(p.holds(clock(5)));
    assertInstanceOf(Step.Granted.class, get(q, 0, 1, 2));
  }

  @Test
  void aSlowClockMakesNoTwoOwners() {
    ahead[5] = -EPSILON;
    get(p, 0, 1, 2);
    now = p.heldUntil() + EPSILON - 1;
    get(q, 0, 1, 2);
    assertTrue(p.holds(clock(5)));
    assertFalse(q.holds(clock(6)));
  }

  @Test
  void eachAttemptHasABallotOfItsOwnAndNotBelowTheTime() {
    p.acquire(now, LONGEST, LONGEST, table.from(5));
    Ballot first = ((Prepare) table.sent.get(0).message()).ballot();
    assertEquals(new Ballot(now, 1, 5), first);
    table.sent.clear();
    p.acquire(now - EPSILON, LONGEST, LONGEST, table.from(5)); // the clock stepped back
    Ballot second = ((Prepare) table.sent.get(0).message()).ballot();
    assertEquals(new Ballot(now + 1, 1, 5), second);
  }

  @Test
  void p1_aRefusalIsNoVote() {
    Ballot higher = new Ballot(now + LONGEST, 1, 6);
    prepare(0, higher);
    prepare(1, higher);
    table.sent.clear();
    p.acquire(now, LONGEST, LONGEST, table.from(5));
    toAcceptors(0, 1, 2);
    assertEquals(new Step.Outbid(higher), back(p));
    assertFalse(p.isTrying());
  }

  @Test
  void p2_theExpiryCountsFromTheStartOfTheAttemptAndNotFromTheWrite() {
    p.acquire(now, LONGEST, 2 * LONGEST, table.from(5));
    long end = now + LONGEST;
    now += LONGEST / 2;
    toAcceptors(0, 1);
    propose(p, assertInstanceOf(Step.Found.class, back(p)));
    for (Sent s : table.sent) {
      assertTrue(!(s.message() instanceof Accept accept) || accept.term() == end, s.toString());
    }
    toAcceptors(0, 1);
    assertEquals(end, assertInstanceOf(Step.Granted.class, back(p)).until());
  }

  @Test
  void p3_aLiveLeaseIsNotReplacedByAnotherOwnerWithAHigherBallot() {
    get(p, 0, 1, 2);
    Ballot higher = new Ballot(now + 99, 1, 6);
    prepare(0, higher);
    assertTrue(((Promise) table.take(Promise.class).get(0).message()).memory().live());
    accept(higher, now + LONGEST);
    assertEquals(1, table.take(Reject.class).size());
    assertEquals(p.ballot(), told(0).ballot());
    accept(new Ballot(now + 99, 2, 5), now + LONGEST);
    assertEquals(p.ballot(), told(0).ballot(), "the same node, started again, is another owner");
    now = p.heldUntil() + EPSILON - 1;
    accept(higher, now + LONGEST);
    assertEquals(p.ballot(), told(0).ballot(), "its owner's clock may be behind");
    now++;
    accept(higher, now + LONGEST);
    assertEquals(higher, told(0).ballot());
  }

  @Test
  void p4_ballotsAreAboveAllMetAndOfThisStart() {
    Ballot met = new Ballot(now + EPSILON, 1, 6);
    prepare(0, met);
    prepare(1, met);
    table.sent.clear();
    assertEquals(new Step.Outbid(met), get(p, 0, 1, 2));
    var granted = assertInstanceOf(Step.Granted.class, get(p, 0, 1, 2));
    assertEquals(new Ballot(now + EPSILON + 1, 1, 5), granted.ballot());
  }

  @Test
  void p4_aNodeThatStartsAgainAtTheSameTimeHasOtherBallots() {
    p.acquire(now, LONGEST, LONGEST, table.from(5));
    proposer(new Ballots(5, 2)).acquire(now, LONGEST, LONGEST, table.from(5));
    List<Ballot> used =
        table.take(Prepare.class).stream().map(s -> ((Prepare) s.message()).ballot()).toList();
    assertEquals(2, used.stream().distinct().count());
    var ballots = new Ballots(6, 1);
    proposer(ballots).acquire(now, LONGEST, LONGEST, table.from(6));
    proposer(ballots).acquire(now, LONGEST, LONGEST, table.from(6));
    used = table.take(Prepare.class).stream().map(s -> ((Prepare) s.message()).ballot()).toList();
    assertEquals(2, used.stream().distinct().count(), "a new proposer of the same start");
  }

  @Test
  void p5_aBallotOfBeforeTheStartIsBelowTheFloor() {
    Ballot before = new Ballot(now, 1, 5);
    acceptors.set(0, DURATIONS.acceptor(1, now, false));
    now += DURATIONS.quarantine();
    prepare(0, before);
    var reject = (Reject) table.take(Reject.class).get(0).message();
    assertEquals(now, reject.promised().counter());
    accept(before, now + LONGEST);
    assertEquals(1, table.take(Reject.class).size());
    assertEquals(0, acceptors.get(0).size());
    prepare(0, new Ballot(now, 1, 5));
    assertEquals(1, table.take(Promise.class).size(), "a ballot of after the wait is taken");
  }

  /** Of two nodes, one has promises of an acceptor that forgets them, as 3.5 lets it. */
  @Test
  void p5_promisesOfAnEarlierLifeAreWorthNothing() {
    p.acquire(now, LONGEST, 3 * LONGEST, table.from(5));
    toAcceptors(0, 1);
    propose(p, assertInstanceOf(Step.Found.class, back(p)));
    List<Sent> late = table.take(Accept.class);
    acceptors.set(0, DURATIONS.acceptor(1, now, false));
    now += DURATIONS.quarantine();
    get(q, 0, 1, 2);
    assertTrue(q.holds(now));
    table.give(acceptors.get(0), 0, now, late);
    table.give(acceptors.get(2), 2, now, late);
    assertEquals(List.of(), table.take(Accepted.class));
    assertFalse(p.holds(now));
  }

  @Test
  void p8_whatExpiresNowIsOver() {
    accept(new Ballot(now, 1, 6), now);
    assertEquals(1, table.take(Reject.class).size(), "expired, exactly now");
    accept(new Ballot(now, 1, 6), now + LONGEST + EPSILON + 1);
    assertEquals(1, table.take(Reject.class).size(), "longer than any lease");
    get(p, 0, 1, 2);
    now = p.heldUntil();
    assertFalse(p.holds(now));
    now += EPSILON;
    q.acquire(now, LONGEST, LONGEST, table.from(6));
    toAcceptors(0, 1);
    var found = assertInstanceOf(Step.Found.class, back(q));
    assertTrue(found.remembered(), "an expired lease is an empty vote, and no dropped message");
    assertEquals(List.of(Memory.State.EXPIRED), found.lasts().stream().map(Memory::state).toList());
  }

  @Test
  void anEndThatWasActedOnStays() {
    get(p, 0, 1, 2);
    now = p.heldUntil();
    p.acquire(now, LONGEST, LONGEST, table.from(5));
    assertFalse(p.holds(now - EPSILON), "the clock stepped back");
    p.giveUp(now, table.from(5));
    now += EPSILON;
    get(q, 0, 1, 2);
    q.renew(now, LONGEST, LONGEST, table.from(6));
    toAcceptors(0, 1, 2);
    propose(q, assertInstanceOf(Step.Found.class, back(q)));
    table.sent.clear();
    now = q.heldUntil();
    assertInstanceOf(Step.Indeterminate.class, q.wake(now, table.from(6)));
    assertEquals(3, table.take(Release.class).size());
    assertFalse(q.holds(now - EPSILON), "what was given back is held no more");
  }

  @Test
  void misuseIsRefused() {
    var out = table.from(5);
    assertThrows(IllegalArgumentException.class, () -> p.acquire(now, LONGEST + 1, LONGEST, out));
    assertThrows(IllegalArgumentException.class, () -> p.acquire(now, EPSILON, LONGEST, out));
    assertThrows(IllegalArgumentException.class, () -> new Flease(LONGEST, LONGEST, 0));
    assertThrows(IllegalArgumentException.class, () -> new Flease(LONGEST, -1, 0));
    assertThrows(IllegalArgumentException.class, () -> new Flease(0, 0, 0));
  }
}
