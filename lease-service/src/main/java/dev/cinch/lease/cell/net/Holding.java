package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Proposer;
import org.jspecify.annotations.Nullable;

/**
 * A name that this node holds, or attempts to: there is one as long as that is so. As a timer it is
 * due when the lease ends, or earlier: then it was renewed meanwhile.
 */
final class Holding extends Timer {
  final Proposer proposer;

  /** The first ballot of the lease that is held. */
  Ballot first = Ballot.NONE;

  /** What is under way. */
  @Nullable Pursuit pursuit;

  /** Whether it is to be given back once all acceptors have it. */
  boolean lingers;

  Holding(Proposer proposer) {
    this.proposer = proposer;
  }

  /** Whether a ballot is one of the lease that is held: of its grant, or of a renewal. */
  boolean isOf(Ballot lease, long now) {
    return proposer.holds(now)
        && lease.sameOwner(first)
        && !lease.below(first)
        && !proposer.ballot().below(lease);
  }
}
