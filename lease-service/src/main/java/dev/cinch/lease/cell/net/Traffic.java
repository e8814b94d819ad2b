package dev.cinch.lease.cell.net;

/**
 * What a node has sent and received since it started. What it dropped is counted by the reason that
 * was found first. Immutable.
 *
 * @param datagramsSent to other nodes
 * @param messagesSent in them
 * @param datagramsReceived all that came, those that were dropped too
 * @param messagesReceived in those that were not dropped
 * @param messagesWithin from the node to itself, which take no datagram
 * @param malformed shorter than a datagram is, or authentic with a message that is none
 * @param otherVersion of a version that this node doesn't know
 * @param notForThisNode that another node should have got
 * @param unknownSender of a node that is not of the cell
 * @param wrongKey altered, or authenticated with another key
 * @param stale of a client, no later than what it sent before; or its clock is far from the node's
 * @param notSent that the network didn't take; nor messages too large for a datagram
 */
public record Traffic(
    long datagramsSent,
    long messagesSent,
    long datagramsReceived,
    long messagesReceived,
    long messagesWithin,
    long malformed,
    long otherVersion,
    long notForThisNode,
    long unknownSender,
    long wrongKey,
    long stale,
    long notSent) {

  /** Datagrams received that were dropped. */
  public long dropped() {
    return malformed + otherVersion + notForThisNode + unknownSender + wrongKey + stale;
  }
}
