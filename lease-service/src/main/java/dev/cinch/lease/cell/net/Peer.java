package dev.cinch.lease.cell.net;

import java.nio.ByteBuffer;

/** Another node of the cell: what is ready for it, and what was heard of it. Not thread-safe. */
final class Peer {
  final int id;

  /** What is ready for it. */
  final ByteBuffer out;

  /** How many messages that is. */
  int messages;

  /** When it was heard last, by this node's clock; -1 if never. */
  long heardAt = -1;

  /** When its acceptor last answered, by this node's clock; -1 if never. */
  long answeredAt = -1;

  int boot;

  /** How many datagrams were sent to it. */
  int sent;

  /** The number that its next datagram should have. */
  private int expected;

  /** What its clock showed when it sent, less what ours did when that came. */
  long ahead;

  /**
   * @param limit bytes that a datagram may have
   */
  Peer(int id, int limit) {
    this.id = id;
    this.out = ByteBuffer.allocate(limit);
  }

  /**
   * Takes note of a datagram.
   *
   * @param clock what it says of the sender's clock
   * @param number of datagrams that it sent before
   * @return whether others were sent before it, and did not come
   */
  boolean heard(int sentByBoot, long clock, int number, long now) {
    boolean first = heardAt < 0;
    boolean other = boot != sentByBoot;
    int skipped = number - expected;
    if (first || other || skipped >= 0) {
      expected = number + 1;
    }
    heardAt = now;
    boot = sentByBoot;
    ahead = clock - now;
    return !first && (other || skipped > 0);
  }
}
