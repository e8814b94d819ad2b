package dev.cinch.lease.witness;

import com.google.errorprone.annotations.CheckReturnValue;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;

/**
 * The keys of a cell's nodes, of which a majority signs each witness of the cell's instance
 * (protocol, rule F3). Together they are one {@link #key key}, which a store trusts, and which is
 * no node's: what fewer nodes sign counts nowhere. Immutable.
 *
 * <p>That key's 32 bytes are SHA-256 of these, so that they name no other nodes and no other
 * instance, and nobody can sign with them alone:
 *
 * <pre>
 *   0 13 "cinch cell 1\n", ASCII
 *  13  8 number of the instance, little-endian
 *  21  1 n, how many nodes
 *  22 32 n their Ed25519 public keys, in order
 * </pre>
 *
 * @param instance number of the cell's instance, from 1
 * @param nodes their keys, 1 to {@link #MOST}, each another; node 1 is the first
 */
@CheckReturnValue
public record CellKeys(long instance, List<PublicKey> nodes) {
  /** The most nodes. */
  public static final int MOST = 31;

  private static final byte[] DOMAIN = "cinch cell 1\n".getBytes(StandardCharsets.US_ASCII);

  /**
   * @throws IllegalArgumentException if something is out of its range
   */
  public CellKeys {
    nodes = List.copyOf(nodes);
    if (instance < 1) {
      throw new IllegalArgumentException("an instance is 1 or more, not " + instance);
    }
    if (nodes.isEmpty() || nodes.size() > MOST) {
      throw new IllegalArgumentException("a cell has 1 to " + MOST + " keys, not " + nodes.size());
    }
    if (new HashSet<>(nodes).size() < nodes.size()) {
      throw new IllegalArgumentException("two nodes of a cell have the same key");
    }
    if (nodes.stream().anyMatch(node -> node.cell().isPresent())) {
      throw new IllegalArgumentException("a node's key is one key");
    }
  }

  /** How many nodes have to sign. */
  public int majority() {
    return nodes.size() / 2 + 1;
  }

  /** The key that stands for all of them. */
  public PublicKey key() {
    return PublicKey.ofCell(this);
  }

  byte[] commitment() {
    ByteBuffer out =
        ByteBuffer.allocate(DOMAIN.length + Long.BYTES + 1 + nodes.size() * PublicKey.BYTES)
            .order(ByteOrder.LITTLE_ENDIAN);
    out.put(DOMAIN).putLong(instance).put((byte) nodes.size());
    nodes.forEach(node -> out.put(node.bytes()));
    return PublicKey.sha256(out.array());
  }
}
