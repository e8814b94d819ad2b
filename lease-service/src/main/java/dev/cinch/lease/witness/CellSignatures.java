package dev.cinch.lease.witness;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import java.util.Optional;
import java.util.TreeMap;

/** What nodes of a cell signed of one witness, until they are a majority. Not thread-safe. */
@CheckReturnValue
public final class CellSignatures {
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
   * is no signature not at all. Whether it is good is not looked at: whoever uses the witness does.
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
