package dev.cinch.lease.cell;

/** The machines that a cell runs, the same in all its nodes. Immutable. */
public sealed interface Algorithm permits PaxosLease, Flease {
  /** What a cell's file calls it. */
  String name();

  /**
   * The acceptor of a node that starts.
   *
   * @param boot how often it has, from a counter on its disk
   * @param now what its clock shows
   * @param first whether the cell is new, so that nothing was before: then it is not silent (rule
   *     P5)
   */
  Acceptor acceptor(int boot, long now, boolean first);

  /**
   * A proposer for a name that the node has none for.
   *
   * @param resendNanos after so long a message is sent again to acceptors that have not answered
   */
  Proposer proposer(Cell cell, Ballot.Ballots ballots, Bytes name, long resendNanos);

  /** The shortest lease time that acceptors can tell from none, nanoseconds. */
  long shortest();

  /** The longest lease time, nanoseconds. */
  long longest();

  /** Nanoseconds that acceptors remember a lease after its end. */
  long keep();

  /**
   * How far a node's wall clock may be off the common time, nanoseconds; {@link Long#MAX_VALUE} if
   * it does not go by that.
   */
  long clockWithin();
}
