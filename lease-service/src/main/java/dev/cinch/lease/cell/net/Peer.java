package dev.cinch.lease.cell.net;

import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/** Another member of the cell: a node, or a client, whose id is below 0. Not thread-safe. */
final class Peer {
  final int id;

  /** What is ready for it; null while nothing is, for clients. */
  @Nullable ByteBuffer out;

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

  /** What a client's clock showed at the latest. */
  long latest;

  Peer(int id) {
    this.id = id;
  }

  /**
   * Whether a datagram shows that others were sent before it, and did not come. To be asked before
   * {@link #heard}.
   *
   * @param number of datagrams that it sent before
   */
  boolean misses(int sentByBoot, int number) {
    boolean first = heardAt < 0;
    boolean other = boot != sentByBoot;
    int ahead = number - expected;
    if (first || other || ahead >= 0) {
      expected = number + 1;
    }
    return !first && (other || ahead > 0);
  }

  /**
   * Takes note of a datagram.
   *
   * @param clock what it says of the sender's clock
   */
  void heard(int sentByBoot, long clock, long now) {
    heardAt = now;
    boot = sentByBoot;
    ahead = clock - now;
  }
}
