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

  int boot;

  /** What its clock showed when it sent, less what ours did when that came. */
  long ahead;

  /** What a client's clock showed at the latest. */
  private long latest = Long.MIN_VALUE;

  Peer(int id) {
    this.id = id;
  }

  boolean isClient() {
    return id < 0;
  }

  /**
   * Takes note of a datagram.
   *
   * @param clock what it says of the sender's clock
   * @return whether it was sent after all that came before: an older one, which may be a replay,
   *     does not say where the sender is
   */
  boolean heard(int sentByBoot, long clock, long now) {
    boolean newest = heardAt < 0 || boot != sentByBoot || clock >= latest;
    heardAt = now;
    boot = sentByBoot;
    ahead = clock - now;
    if (newest) {
      latest = clock;
    }
    return newest;
  }
}
