package dev.cinch.lease.time.roughtime;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The tree over the requests that one signature answers. Where a level has an odd number of nodes,
 * its last one stands for its missing sibling too. Immutable.
 */
final class MerkleTree {
  private final List<List<byte[]>> levels = new ArrayList<>();

  /**
   * @param packets of requests, at least one
   */
  MerkleTree(List<byte[]> packets) {
    List<byte[]> level = packets.stream().map(Hashes::leaf).toList();
    levels.add(level);
    while (level.size() > 1) {
      var above = new ArrayList<byte[]>();
      for (int i = 0; i < level.size(); i += 2) {
        above.add(Hashes.node(level.get(i), sibling(level, i)));
      }
      level = above;
      levels.add(level);
    }
  }

  private static byte[] sibling(List<byte[]> level, int index) {
    return level.get(Math.min(index ^ 1, level.size() - 1));
  }

  byte[] root() {
    return levels.get(levels.size() - 1).get(0);
  }

  /** The siblings on the way from a leaf to the root, one after the other. */
  byte[] path(int leaf) {
    var path = new byte[Hashes.BYTES * (levels.size() - 1)];
    int index = leaf;
    for (int i = 0; i < levels.size() - 1; i++, index >>= 1) {
      System.arraycopy(sibling(levels.get(i), index), 0, path, Hashes.BYTES * i, Hashes.BYTES);
    }
    return path;
  }

  /** Whether a path leads from a request to a root. */
  static boolean leads(byte[] packet, int index, byte[] path, byte[] root) {
    if (path.length % Hashes.BYTES != 0 || path.length > Integer.SIZE * Hashes.BYTES) {
      return false;
    }
    byte[] hash = Hashes.leaf(packet);
    // In 64 bits: a path of 32 uses up all of an index.
    long rest = Integer.toUnsignedLong(index);
    for (int at = 0; at < path.length; at += Hashes.BYTES, rest >>= 1) {
      byte[] sibling = Arrays.copyOfRange(path, at, at + Hashes.BYTES);
      hash = (rest & 1) == 0 ? Hashes.node(hash, sibling) : Hashes.node(sibling, hash);
    }
    return rest == 0 && Arrays.equals(hash, root);
  }
}
