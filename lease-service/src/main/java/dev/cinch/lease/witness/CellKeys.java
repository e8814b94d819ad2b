package dev.cinch.lease.witness;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Sha256;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;

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
    return Sha256.of(out.array());
  }

  /** What nodes of a cell signed of one witness, until they are a majority. Not thread-safe. */
  public static final class CellSignatures {
    private final CellKeys keys;
    private final Witness witness;
    private final byte[] payload;
    private final TreeMap<Integer, byte[]> signatures = new TreeMap<>();

    /**
     * @throws IllegalArgumentException if the witness can't be encoded, or is of another instance
     */
    public CellSignatures(CellKeys keys, Witness witness) {
      if (witness.instance() != keys.instance()) {
        throw new IllegalArgumentException(
            "a witness of instance " + witness.instance() + ", and a cell of " + keys.instance());
      }
      this.keys = keys;
      this.witness = witness;
      this.payload = WitnessCodec.encode(witness);
    }

    /** What nodes sign. */
    public byte[] payload() {
      return payload.clone();
    }

    /**
     * Takes what {@link NodeSigner} made at a node; a second one of a node counts no more, and what
     * is no signature not at all. Whether it is good is not looked at: whoever uses the witness
     * does.
     *
     * @param node its place among the cell's keys, from 1
     * @return the witness, once a majority has signed it
     */
    public Optional<SignedWitness> add(int node, byte[] signature) {
      if (node >= 1 && node <= keys.nodes().size() && MajorityForm.isPart(signature)) {
        byte[] unused = signatures.putIfAbsent(node, signature.clone());
      }
      return signatures.size() < keys.majority()
          ? Optional.empty()
          : Optional.of(
              new SignedWitness(witness, MajorityForm.join(payload, keys.key(), signatures)));
    }
  }
}
