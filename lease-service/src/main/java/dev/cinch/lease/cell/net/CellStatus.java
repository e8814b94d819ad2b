package dev.cinch.lease.cell.net;

import java.util.List;

/**
 * What a node knows of itself. Times are of its own clock, nanoseconds. Immutable.
 *
 * @param boot how often it has started
 * @param now what its clock shows
 * @param quarantinedUntil until when its acceptor is silent
 * @param rows names of which its acceptor knows something
 * @param names for which it holds a lease, or attempts to
 * @param attempts under way
 * @param answering how many acceptors answered it a moment ago, its own too; -1 if nobody has asked
 *     them
 * @param counter of the highest ballot that it gave; 0 if it gave none since it started
 * @param faults of its own code: handlers that ended with an exception, which the log has
 */
public record CellStatus(
    int node,
    int boot,
    long now,
    long quarantinedUntil,
    int rows,
    int names,
    int attempts,
    int answering,
    long counter,
    long faults,
    Traffic traffic,
    List<Peer> peers) {
  public CellStatus {
    peers = List.copyOf(peers);
  }

  /** Whether its acceptor is still silent (rule P5). */
  public boolean isQuarantined() {
    return now < quarantinedUntil;
  }

  /**
   * Another node.
   *
   * @param heardAt when it was heard last; -1 if never
   * @param boot as it said then
   * @param aheadNanos by how much its clock is ahead of this one's, less the time that the last
   *     datagram was on its way; says nothing of PaxosLease, whose clocks have no common origin
   */
  public record Peer(int node, long heardAt, int boot, long aheadNanos) {}
}
