package dev.cinch.lease.witness;

import java.security.MessageDigest;
import java.util.Arrays;
import java.util.BitSet;

/**
 * A tree whose root's signature is good, and what is known of it by the ways of those payloads that
 * were found in it: their ways have most nodes in common, which need not be hashed for each. Not
 * thread-safe.
 */
final class GoodTree {
  private static final int HASH = HashTree.HASH_BYTES;
  private static final int ROOT = 1;

  private final SignedForm first;
  private final int depth;
  private final MessageDigest sha = PublicKey.sha256();
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
