package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Algorithm;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;

/**
 * How a node goes about it; each node may have its own, but for the size of datagrams. Immutable.
 *
 * @param datagramBytes what a datagram has at most, 512 to 61,440; the same for all nodes, because
 *     it bounds the values that they may agree on
 * @param resendNanos after so long a message is sent again to a node that has not answered
 * @param backoffNanos an attempt that was outbid twice waits a random time up to this, then up to
 *     twice as long, and so on
 * @param window how many acquisitions are under way at once, from 1; with renewals twice as many
 * @param queuedAcquisitions how many more may wait; what is beyond is refused
 * @param queuedRenewals how many renewals may wait, and how many releases and questions; both come
 *     before acquisitions
 * @param rowBytes what the names that the node's acceptor knows take in the heap at most, about;
 *     then no new name is taken
 */
public record CellSettings(
    int datagramBytes,
    long resendNanos,
    long backoffNanos,
    int window,
    int queuedAcquisitions,
    int queuedRenewals,
    long rowBytes) {
  static final int SMALLEST = 512;
  private static final int MTU = 1_400;
  private static final long MILLI = 1_000_000;

  /** For a network that carries 1,500 bytes; with a quarter of the heap for names. */
  public static final CellSettings DEFAULT =
      new CellSettings(
          MTU,
          100 * MILLI,
          2 * MILLI,
          1_024,
          16_384,
          262_144,
          Runtime.getRuntime().maxMemory() / 4);

  /**
   * @throws IllegalArgumentException if one is out of its range
   */
  public CellSettings {
    if (datagramBytes < SMALLEST || datagramBytes > Datagrams.LARGEST) {
      throw new IllegalArgumentException(
          "a datagram has %d to %d bytes, not %d"
              .formatted(SMALLEST, Datagrams.LARGEST, datagramBytes));
    }
    if (resendNanos < 1
        || backoffNanos < 1
        || window < 1
        || queuedAcquisitions < 0
        || queuedRenewals < 0
        || rowBytes < 1) {
      throw new IllegalArgumentException(
          "times and the window are 1 or more, and queues 0 or more");
    }
  }

  public CellSettings withDatagramBytes(int bytes) {
    return new CellSettings(
        bytes, resendNanos, backoffNanos, window, queuedAcquisitions, queuedRenewals, rowBytes);
  }

  /** The longest value that fits every message that carries it. */
  public int longestValue() {
    return datagramBytes - Datagrams.HEADER - Seal.BYTES - MessageCodec.LARGEST_WITHOUT_VALUE;
  }

  /**
   * What a node of a cell is made of.
   *
   * @param nodes ids of all nodes, its own too; all are acceptors
   * @param key of the cell
   * @param clock by which leases end
   * @param times what the ballot of an attempt is at least, so that they say which was the later
   */
  record CellParts(
      List<Integer> nodes,
      CellKey key,
      Algorithm algorithm,
      CellSettings settings,
      Link link,
      LongSupplier clock,
      LongSupplier times,
      RandomGenerator random) {}
}
