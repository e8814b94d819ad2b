package dev.cinch.lease.witness;

import dev.cinch.lease.Sha256;
import java.security.DigestException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;

/**
 * The tree of SHA-256 hashes over payloads that one signature covers; its bytes are in the
 * package's description. Leaves and inner nodes are hashed with different first bytes, so that
 * neither can be taken for the other. Immutable; not thread-safe.
 *
 * <p>Source: Merkle trees of RFC 6962 and Roughtime, the latter for answers that wait together.
 */
final class HashTree {
  /** Bytes of a hash. */
  static final int HASH_BYTES = 32;

  /** Levels above the leaves at most: 65,536 payloads. */
  static final int MAX_DEPTH = 16;

  private static final byte LEAF = 0;
  private static final byte NODE = 1;

  /** Hashes of each level, one after another, the leaves first; the last is the root alone. */
  private final byte[][] levels;

  /**
   * @param payloads 2 to 65,536
   */
  HashTree(List<byte[]> payloads) {
    if (payloads.size() < 2 || payloads.size() > 1 << MAX_DEPTH) {
      throw new IllegalArgumentException("a tree of " + payloads.size() + " payloads");
    }
    MessageDigest sha = Sha256.digest();
    int depth = Integer.SIZE - Integer.numberOfLeadingZeros(payloads.size() - 1);
    levels = new byte[depth + 1][];
    levels[0] = new byte[even(payloads.size()) * HASH_BYTES];
    for (int i = 0; i < payloads.size(); i++) {
      leaf(sha, payloads.get(i), payloads.get(i).length, levels[0], i * HASH_BYTES);
    }
    int nodes = payloads.size();
    for (int level = 1; level <= depth; level++) {
      nodes = even(nodes) / 2;
      byte[] below = levels[level - 1];
      // An odd one stands beside zeros, which are the hash of nothing known.
      levels[level] = new byte[(level == depth ? 1 : even(nodes)) * HASH_BYTES];
      for (int i = 0; i < nodes; i++) {
        int at = 2 * i * HASH_BYTES;
        node(sha, below, at, below, at + HASH_BYTES, levels[level], i * HASH_BYTES);
      }
    }
  }

  int depth() {
    return levels.length - 1;
  }

  byte[] root() {
    return levels[depth()].clone();
  }

  /** Writes the hashes beside the way from a leaf to the root, the lowest first. */
  void path(int leaf, byte[] out, int offset) {
    for (int level = 0; level < depth(); level++) {
      int sibling = leaf >> level ^ 1;
      System.arraycopy(
          levels[level], sibling * HASH_BYTES, out, offset + level * HASH_BYTES, HASH_BYTES);
    }
  }

  /**
   * The root that a path leads to.
   *
   * @param signedForm begins with the payload, of so many bytes
   * @param leaf number of the payload, its bits saying on which side each hash of the path stands
   * @param path offset of {@code depth} hashes
   */
  static byte[] root(byte[] signedForm, int payload, int leaf, int path, int depth) {
    MessageDigest sha = Sha256.digest();
    var hash = new byte[HASH_BYTES];
    leaf(sha, signedForm, payload, hash, 0);
    for (int level = 0; level < depth; level++) {
      int sibling = path + level * HASH_BYTES;
      if ((leaf >> level & 1) == 0) {
        node(sha, hash, 0, signedForm, sibling, hash, 0);
      } else {
        node(sha, signedForm, sibling, hash, 0, hash, 0);
      }
    }
    return hash;
  }

  private static int even(int n) {
    return n + (n & 1);
  }

  static void leaf(MessageDigest sha, byte[] bytes, int length, byte[] out, int at) {
    sha.update(LEAF);
    sha.update(bytes, 0, length);
    end(sha, out, at);
  }

  static void node(
      MessageDigest sha, byte[] left, int leftAt, byte[] right, int rightAt, byte[] out, int at) {
    sha.update(NODE);
    sha.update(left, leftAt, HASH_BYTES);
    sha.update(right, rightAt, HASH_BYTES);
    end(sha, out, at);
  }

  private static void end(MessageDigest sha, byte[] out, int at) {
    try {
      int unused = sha.digest(out, at, HASH_BYTES);
    } catch (DigestException e) {
      throw new IllegalStateException("there is room for a hash", e);
    }
  }

  /**
   * A tree whose root's signature is good, and what is known of it by the ways of those payloads
   * that were found in it: their ways have most nodes in common, which need not be hashed for each.
   * Not thread-safe.
   */
  static final class GoodTree {
    private static final int HASH = HashTree.HASH_BYTES;
    private static final int ROOT = 1;

    private final SignedForm first;
    private final int depth;
    private final MessageDigest sha = Sha256.digest();
    private final byte[] hash = new byte[HASH];

    /** Hashes: the root's in place 1, those below the one in place p in places 2p and 2p + 1. */
    private final byte[] nodes;

    private final BitSet known = new BitSet();

    /**
     * @param first whose signature was found good, and is of a tree
     */
    GoodTree(SignedForm first) {
      this.first = first;
      this.depth = first.depth();
      this.nodes = new byte[(2 << depth) * HASH];
      System.arraycopy(first.root(), 0, nodes, ROOT * HASH, HASH);
      known.set(ROOT);
    }

    /**
     * Whether a payload is in this tree, all bytes of its way included. If not, that need not mean
     * that it is bad: it may be in another.
     */
    boolean has(SignedForm form) {
      if (form.depth() != depth || !form.hasSignatureOf(first)) {
        return false;
      }
      int place = form.leaf() + (1 << depth);
      HashTree.leaf(sha, form.bytes(), form.payload(), hash, 0);
      boolean met = false;
      int unknown = 0;
      for (int level = 0; level < depth; level++, place >>= 1) {
        int sibling = form.sibling(level);
        if (known.get(place ^ 1) && !isAt(place ^ 1, form.bytes(), sibling)) {
          return false;
        }
        if (!met && known.get(place)) {
          if (!isAt(place, hash, 0)) {
            return false;
          }
          met = true;
        } else if (!met) {
          unknown++;
          System.arraycopy(hash, 0, nodes, place * HASH, HASH);
          if (!known.get(place ^ 1)) {
            System.arraycopy(form.bytes(), sibling, nodes, (place ^ 1) * HASH, HASH);
          }
          int left = (place & ~1) * HASH;
          HashTree.node(sha, nodes, left, nodes, left + HASH, hash, 0);
        }
      }
      if (!met && !isAt(ROOT, hash, 0)) {
        return false;
      }
      place = form.leaf() + (1 << depth);
      for (int level = 0; level < unknown; level++, place >>= 1) {
        known.set(place & ~1, (place | 1) + 1);
      }
      return true;
    }

    private boolean isAt(int place, byte[] bytes, int offset) {
      int at = place * HASH;
      return Arrays.equals(nodes, at, at + HASH, bytes, offset, offset + HASH);
    }
  }
}
