package dev.cinch.lease.cell;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.cell.Ballot.Ballots;
import dev.cinch.lease.cell.Message.Accept;
import dev.cinch.lease.cell.Message.Accepted;
import dev.cinch.lease.cell.Message.Learn;
import dev.cinch.lease.cell.Message.Memory;
import dev.cinch.lease.cell.Message.Prepare;
import dev.cinch.lease.cell.Message.Promise;
import dev.cinch.lease.cell.Message.Query;
import dev.cinch.lease.cell.Message.Release;
import dev.cinch.lease.cell.Message.Told;
import dev.cinch.lease.cell.Table.Sent;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Three acceptors, 0 to 2, and the proposers of nodes 5 and 6, driven message by message; and the
 * rules that both algorithms keep in the same words.
 */
public abstract class RulesRig {
  protected static final long MS = 1_000_000;
  protected static final long LONGEST = 1_000 * MS;
  protected static final long KEEP = 5_000 * MS;
  protected static final long RESEND = 10_000 * MS;
  protected static final Cell CELL = new Cell(List.of(0, 1, 2), List.of(9));
  protected static final Bytes NAME = Bytes.of("name");
  protected static final Bytes VALUE = Bytes.of("value");

  protected final Table table = new Table();
  protected final List<Acceptor> acceptors = new ArrayList<>();
  protected final Proposer p = proposer(new Ballots(5, 1));
  protected final Proposer q = proposer(new Ballots(6, 1));

  /** By how much the clock of a node is ahead. */
  protected final long[] ahead = new long[10];

  protected long now;

  protected abstract Proposer proposer(Ballots ballots);

  /** An acceptor that starts now, once more, and for how long it is quarantined. */
  protected abstract Acceptor fresh();

  protected abstract long quarantine();

  /**
   * For how much longer acceptors keep a lease than its owner, whose clock shows what theirs do.
   */
  protected abstract long epsilon();

  /** Proposers are nodes 5 and 6. */
  protected final int node(Proposer proposer) {
    return proposer == p ? 5 : 6;
  }

  protected final long clock(int node) {
    return now + ahead[node];
  }

  /** Delivers what is sent to some acceptors. */
  protected final void toAcceptors(int... ids) {
    List<Sent> all = List.copyOf(table.sent);
    for (int id : ids) {
      List<Sent> mine = all.stream().filter(s -> s.to() == id).toList();
      table.sent.removeAll(mine);
      table.give(acceptors.get(id), id, clock(id), mine);
    }
  }

  /** Delivers what is sent to a proposer. */
  protected final Step back(Proposer proposer) {
    int node = node(proposer);
    List<Sent> mine = table.sent.stream().filter(s -> s.to() == node).toList();
    table.sent.removeAll(mine);
    return table.give(proposer, node, clock(node), mine);
  }

  /** A whole attempt, with some acceptors. */
  protected final Step get(Proposer proposer, int... ids) {
    int node = node(proposer);
    proposer.acquire(clock(node), LONGEST, LONGEST, table.from(node));
    return go(proposer, ids);
  }

  /** Both halves of an attempt that has begun, with some acceptors. */
  protected final Step go(Proposer proposer, int... ids) {
    toAcceptors(ids);
    Step step = back(proposer);
    if (step instanceof Step.Found found) {
      propose(proposer, found);
      toAcceptors(ids);
      step = back(proposer);
    }
    table.sent.clear();
    return step;
  }

  protected final void propose(Proposer proposer, Step.Found found) {
    int node = node(proposer);
    proposer.propose(found, VALUE, clock(node), table.from(node));
  }

  private void giveAll(List<Sent> sent) {
    for (int i = 0; i < CELL.size(); i++) {
      table.give(acceptors.get(i), i, clock(i), sent);
    }
  }

  /** What an acceptor knows. */
  protected final Memory told(int acceptor) {
    acceptors.get(acceptor).receive(8, new Query(NAME), clock(acceptor), table.from(acceptor));
    return ((Told) table.take(Told.class).get(0).message()).memory();
  }

  @Test
  void nobodyProposesTheLeaseOfAnother() {
    get(p, 0, 1, 2);
    q.acquire(now, LONGEST, LONGEST, table.from(6));
    toAcceptors(0, 1, 2);
    assertInstanceOf(Step.Held.class, back(q));
    assertEquals(List.of(), table.take(Accept.class));
    assertFalse(q.isTrying());
  }

  @Test
  void p1_doubledAnswersAndOtherBallotsDoNotCount() {
    p.acquire(now, LONGEST, LONGEST, table.from(5));
    toAcceptors(0);
    List<Sent> promise = table.take(Promise.class);
    assertEquals(Step.Pending.PENDING, table.give(p, 5, now, promise));
    assertEquals(Step.Pending.PENDING, table.give(p, 5, now, promise));
    toAcceptors(1);
    propose(p, assertInstanceOf(Step.Found.class, back(p)));
    toAcceptors(0);
    List<Sent> accepted = table.take(Accepted.class);
    assertEquals(Step.Pending.PENDING, table.give(p, 5, now, accepted));
    assertEquals(Step.Pending.PENDING, table.give(p, 5, now, accepted));
    var other = new Accepted(NAME, new Ballot(99, 1, 5));
    assertEquals(Step.Pending.PENDING, p.receive(1, other, now, table.from(5)));
    var stranger = new Accepted(NAME, ((Accepted) accepted.get(0).message()).ballot());
    assertEquals(Step.Pending.PENDING, p.receive(7, stranger, now, table.from(5)));
    assertFalse(p.holds(now));
    toAcceptors(1);
    assertInstanceOf(Step.Granted.class, back(p));
  }

  /**
   * Both proposers have promises of acceptors 0 and 1 when 0 starts again and forgets, and propose
   * after its quarantine. In the papers' versions the first is then accepted by 0 and 2, and the
   * second by 0 and 1.
   */
  @Test
  void p2_lateProposalsMakeNoTwoOwners() {
    p.acquire(now, LONGEST, 4 * LONGEST, table.from(5));
    toAcceptors(0, 1, 2);
    List<Sent> third = table.take(Promise.class, 2);
    Step firstFound = back(p);
    q.acquire(now, LONGEST, 4 * LONGEST, table.from(6));
    toAcceptors(0, 1);
    table.sent.removeIf(s -> s.to() == 2);
    Step secondFound = back(q);
    acceptors.set(0, fresh());
    now += quarantine();
    if (firstFound instanceof Step.Found found) {
      propose(p, found);
      table.give(p, 5, now, third);
      toAcceptors(0, 2);
      back(p);
    }
    if (secondFound instanceof Step.Found found) {
      propose(q, found);
      toAcceptors(0, 1);
      back(q);
    }
    assertFalse(p.holds(now) && q.holds(now));
  }

  @Test
  void p2_anAnswerIsNotTakenAtTheEnd() {
    p.acquire(now, LONGEST, 2 * LONGEST, table.from(5));
    toAcceptors(0, 1);
    propose(p, assertInstanceOf(Step.Found.class, back(p)));
    toAcceptors(0, 1);
    now += LONGEST;
    assertInstanceOf(Step.Indeterminate.class, back(p));
    assertFalse(p.holds(now));
    p.acquire(now, LONGEST, 2 * LONGEST, table.from(5));
    toAcceptors(0, 1);
    now += LONGEST;
    assertInstanceOf(Step.Unavailable.class, back(p));
    p.acquire(now, LONGEST, 2 * LONGEST, table.from(5));
    toAcceptors(0, 1);
    var found = assertInstanceOf(Step.Found.class, back(p));
    now += LONGEST;
    assertInstanceOf(Step.Unavailable.class, p.propose(found, VALUE, now, table.from(5)));
  }

  @Test
  void p5_anAcceptorThatStartedIsSilentToItsOwnNodeToo() {
    Acceptor fresh = fresh();
    long over = now + quarantine();
    Ballot ballot = new Ballot(over, 1, 0);
    fresh.receive(0, new Prepare(NAME, ballot), over - 1, table.from(0));
    fresh.receive(0, new Query(NAME), over - 1, table.from(0));
    assertTrue(table.sent.isEmpty());
    assertEquals(0, fresh.size());
    fresh.receive(0, new Prepare(NAME, ballot), over, table.from(0));
    assertEquals(1, table.take(Promise.class).size());
    fresh.receive(0, new Query(NAME), over - 1, table.from(0));
    assertTrue(table.sent.isEmpty(), "the clock stepped back");
  }

  @Test
  void p6_learningMakesNoOwner() {
    p.acquire(now, LONGEST, LONGEST, table.from(5));
    Ballot mine = ((Prepare) table.sent.get(0).message()).ballot();
    for (int node = 0; node < 3; node++) {
      assertEquals(
          Step.Pending.PENDING,
          p.receive(node, new Learn(NAME, mine, LONGEST, VALUE), now, table.from(5)));
      p.receive(node, new Accepted(NAME, mine), now, table.from(5)); // nothing was proposed yet
    }
    assertFalse(p.holds(now));
  }

  @Test
  void p7_aShorterRenewalShortensNothing() {
    get(p, 0, 1, 2);
    long end = p.heldUntil();
    p.renew(now, LONGEST / 5, LONGEST, table.from(5));
    assertInstanceOf(Step.Granted.class, go(p, 0, 1, 2));
    assertEquals(end, p.heldUntil());
    now += LONGEST / 2;
    assertTrue(told(0).live());
    assertEquals(LONGEST / 2 + epsilon(), told(0).nanos());
  }

  @Test
  void p7_aFailedRenewalLeavesTheOldEndAndTheNextOneGoesOn() {
    get(p, 0, 1, 2);
    long end = p.heldUntil();
    now += LONGEST / 4;
    p.renew(now, LONGEST, LONGEST / 10, table.from(5));
    go(p, 2); // acceptor 2 alone promises
    now += LONGEST / 10;
    assertInstanceOf(Step.Unavailable.class, p.wake(now, table.from(5)));
    assertEquals(end, p.heldUntil());
    p.renew(now, LONGEST, LONGEST / 10, table.from(5));
    toAcceptors(0, 1, 2);
    propose(p, assertInstanceOf(Step.Found.class, back(p)));
    toAcceptors(2); // accepted, and nobody hears of it
    table.sent.clear();
    now += LONGEST / 10;
    assertInstanceOf(Step.Indeterminate.class, p.wake(now, table.from(5)));
    assertEquals(List.of(), table.take(Release.class), "it is held still");
    assertEquals(end, p.heldUntil());
    p.renew(now, LONGEST, LONGEST, table.from(5));
    assertInstanceOf(Step.Granted.class, go(p, 1, 2));
    assertEquals(now + LONGEST, p.heldUntil());
  }

  /**
   * The first proposer gives its lease back and takes the next one; the release comes once more, to
   * all acceptors, and the second proposer tries. In PaxosLease as printed both are owners then.
   */
  @Test
  void p9_aStaleReleaseMakesNoTwoOwners() {
    get(p, 0, 1, 2);
    p.release(now, table.from(5));
    List<Sent> release = table.take(Release.class);
    giveAll(release);
    now++;
    get(p, 0, 1, 2);
    giveAll(release);
    if (get(q, 0, 1, 2) instanceof Step.Outbid) {
      get(q, 0, 1, 2);
    }
    assertFalse(q.holds(now));
    assertTrue(p.holds(now));
  }

  @Test
  void p9_onlyTheExactLeaseIsReleased() {
    get(p, 0, 1, 2);
    Ballot first = p.ballot();
    p.release(now, table.from(5));
    List<Sent> stale = table.take(Release.class);
    giveAll(stale);
    for (int i = 0; i < 3; i++) {
      assertEquals(Memory.State.RELEASED, told(i).state());
    }
    now++;
    get(p, 0, 1, 2);
    giveAll(stale);
    for (int i = 0; i < 3; i++) {
      assertTrue(told(i).live());
      assertTrue(first.below(told(i).ballot()));
    }
    p.release(now, table.from(5));
    table.take(Release.class);
    p.release(now, table.from(5));
    assertEquals(List.of(), table.take(Release.class), "released already");
  }

  @Test
  void p9_aReleaseEndsALeaseAndItsRenewalsAndKeepsLateOnesOut() {
    get(p, 0, 1, 2);
    p.renew(now, LONGEST, LONGEST, table.from(5));
    toAcceptors(0, 1, 2);
    propose(p, assertInstanceOf(Step.Found.class, back(p)));
    toAcceptors(0); // accepts the renewal; 1 will see it late
    p.release(now, table.from(5));
    List<Sent> late = table.take(Accept.class);
    toAcceptors(0, 1, 2);
    table.give(acceptors.get(1), 1, now, late);
    for (int i = 0; i < 3; i++) {
      assertEquals(Memory.State.RELEASED, told(i).state());
    }
    table.sent.clear();
    assertFalse(p.holds(now));
    q.acquire(now, LONGEST, LONGEST, table.from(6));
    toAcceptors(0, 1, 2);
    assertInstanceOf(Step.Outbid.class, back(q));
    assertInstanceOf(Step.Granted.class, get(q, 0, 1, 2));
  }
}
