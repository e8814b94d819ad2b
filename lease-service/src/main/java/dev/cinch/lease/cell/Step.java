package dev.cinch.lease.cell;

import java.util.List;

/** Where a message or a wake-up has brought a proposer. Immutable. */
public sealed interface Step {
  /** Nothing to do for the caller but to deliver messages and wake it. */
  enum Pending implements Step {
    PENDING
  }

  /**
   * The name is open to this attempt: the caller now makes a value out of what was found, and gives
   * it to {@link Proposer#propose}, or gives up.
   *
   * @param ballot of the attempt that found it
   * @param remembered whether a majority answered from memory. If so, the last lease that any owner
   *     held is among {@code lasts}, or the value of one of these was made by a proposer that had
   *     found it. If not, there may have been a later one, of which only acceptors knew that have
   *     forgotten it
   * @param quietNanos if not remembered: any such lease had ended so long ago, at the least
   * @param lasts the last leases that acceptors know, each once, highest ballot first. Ballots
   *     don't say which was later where acceptors forgot (PaxosLease); values should. One of these
   *     may have been accepted by too few, so that nobody ever held it; none is held now, but by
   *     this proposer
   */
  record Found(Ballot ballot, boolean remembered, long quietNanos, List<Message.Memory> lasts)
      implements Step {
    public Found {
      lasts = List.copyOf(lasts);
    }
  }

  /**
   * This proposer is the owner.
   *
   * @param until the time of its own clock at which it stops, unless renewed
   */
  record Granted(Ballot ballot, long until) implements Step {}

  /**
   * Another lease is in the way.
   *
   * @param lease as one acceptor sees it; its owner is a hint
   * @param retryAfterNanos when a majority may be free, if it is neither renewed nor released; a
   *     hint. In Flease it reaches &epsilon; past the lease's expiry: who asks between the two is
   *     told to try again then (algorithm 4), and does so with a new ballot
   */
  record Held(Message.Memory lease, long retryAfterNanos) implements Step {}

  /**
   * A majority has promised higher ballots, or may have, or takes the attempt for over: try again,
   * with a new ballot, after a random while. A lease that is held stays held.
   *
   * @param by the highest ballot that an acceptor has promised
   */
  record Outbid(Ballot by) implements Step {}

  /**
   * A majority has no room for one more name: this attempt gives nobody a lease. There may be room
   * once others are forgotten.
   */
  record Full() implements Step {}

  /** Time ran out before anything was proposed: this attempt gives nobody a lease. */
  record Unavailable() implements Step {}

  /**
   * Time ran out after the lease was proposed. This proposer is not the owner by it, and won't be;
   * but acceptors may hold it against others until it expires, and successors may find it.
   */
  record Indeterminate(Ballot ballot) implements Step {}
}
