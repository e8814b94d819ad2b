package dev.cinch.lease.witness;

import com.google.errorprone.annotations.CheckReturnValue;
import java.util.ArrayList;
import java.util.List;

/**
 * Signs witnesses for one node of a cell; a majority of such signatures is one of the cell. What
 * waits together shares a signature. Thread-safe.
 */
@CheckReturnValue
public final class NodeSigner {
  /** The most that share one: each carries the way to the root, 128 bytes with so many. */
  private static final int MOST_TOGETHER = 16;

  private final SigningKey key;

  public NodeSigner(SigningKey key) {
    this.key = key;
  }

  /**
   * Signs payloads of witnesses ({@link WitnessCodec#encode}).
   *
   * @return for each what {@link CellKeys.CellSignatures} takes
   */
  public List<byte[]> sign(List<byte[]> payloads) {
    var signed = new ArrayList<byte[]>(payloads.size());
    for (int from = 0; from < payloads.size(); from += MOST_TOGETHER) {
      List<byte[]> some = payloads.subList(from, Math.min(payloads.size(), from + MOST_TOGETHER));
      if (some.size() == 1) {
        signed.add(MajorityForm.alone(key.sign(some.get(0))));
      } else {
        var tree = new HashTree(some);
        byte[] signature = key.sign(SignedForm.statement(tree.root()));
        for (int i = 0; i < some.size(); i++) {
          signed.add(MajorityForm.leaf(signature, tree, i));
        }
      }
    }
    return signed;
  }

  public PublicKey publicKey() {
    return key.publicKey();
  }
}
