package dev.cinch.lease.cell;

import dev.cinch.lease.cell.Message.Promise;
import dev.cinch.lease.cell.Message.Query;
import dev.cinch.lease.cell.Message.Release;
import dev.cinch.lease.cell.Message.Told;
import dev.cinch.lease.cell.Table.Sent;
import java.util.ArrayList;
import java.util.List;

/** Three acceptors, 0 to 2, and the proposers of nodes 5 and 6, driven message by message. */
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

  /**
   * Both proposers have promises of acceptors 0 and 1 when 0 starts again and forgets, and propose
   * after its quarantine. In the papers' versions the first is then accepted by 0 and 2, and the
   * second by 0 and 1.
   *
   * @param fresh acceptor 0, as it starts now
   * @param quarantine of it
   */
  protected final boolean twoOwnersAfterLateProposals(Acceptor fresh, long quarantine) {
    p.acquire(now, LONGEST, 4 * LONGEST, table.from(5));
    toAcceptors(0, 1, 2);
    List<Sent> third = table.take(Promise.class, 2);
    Step firstFound = back(p);
    q.acquire(now, LONGEST, 4 * LONGEST, table.from(6));
    toAcceptors(0, 1);
    table.sent.removeIf(s -> s.to() == 2);
    Step secondFound = back(q);
    acceptors.set(0, fresh);
    now += quarantine;
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
    return p.holds(now) && q.holds(now);
  }

  /**
   * The first proposer gives its lease back and takes the next one; the release comes once more, to
   * all acceptors, and the second proposer tries. In PaxosLease as printed both are owners then.
   */
  protected final boolean twoOwnersAfterAStaleRelease() {
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
    return p.holds(now) && q.holds(now);
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
}
