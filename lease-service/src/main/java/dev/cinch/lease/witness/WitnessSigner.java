package dev.cinch.lease.witness;

import dev.cinch.lease.OneLine;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import java.util.ArrayList;
import java.util.List;

/**
 * Signs witnesses with one key: one by itself, several together with one signature over the root of
 * a hash tree, since a signature takes a hundred times as long as a hash. Signing the same again
 * yields the same bytes. Thread-safe.
 */
public final class WitnessSigner implements GrantSigner {
  /** The most that share a signature. */
  private static final int MOST_TOGETHER = 1 << 10;

  private final SigningKey key;

  public WitnessSigner(SigningKey key) {
    this.key = key;
  }

  /**
   * Signs one by itself.
   *
   * @throws IllegalArgumentException if the witness can't be encoded ({@link WitnessCodec#encode}),
   *     or if its holder has one of {@link OneLine#isHidden}
   */
  public SignedWitness sign(Witness witness) {
    byte[] payload = payload(witness);
    return new SignedWitness(
        witness, SignedForm.alone(payload, key.publicKey(), key.sign(payload)));
  }

  /**
   * {@inheritDoc}
   *
   * @throws IllegalArgumentException as {@link #sign(Witness)}; nothing is signed then
   */
  @Override
  public List<SignedWitness> sign(List<Witness> witnesses) {
    var signed = new ArrayList<SignedWitness>(witnesses.size());
    for (int from = 0; from < witnesses.size(); from += MOST_TOGETHER) {
      int to = Math.min(witnesses.size(), from + MOST_TOGETHER);
      signTogether(witnesses.subList(from, to), signed);
    }
    return signed;
  }

  private void signTogether(List<Witness> witnesses, List<SignedWitness> signed) {
    if (witnesses.size() == 1) {
      signed.add(sign(witnesses.get(0)));
      return;
    }
    List<byte[]> payloads = witnesses.stream().map(WitnessSigner::payload).toList();
    var tree = new HashTree(payloads);
    byte[] signature = key.sign(SignedForm.statement(tree.root()));
    for (int i = 0; i < payloads.size(); i++) {
      signed.add(
          new SignedWitness(
              witnesses.get(i),
              SignedForm.leaf(payloads.get(i), key.publicKey(), signature, tree, i)));
    }
  }

  private static byte[] payload(Witness witness) {
    OneLine.check("the holder", witness.holder());
    return WitnessCodec.encode(witness);
  }

  @Override
  public PublicKey publicKey() {
    return key.publicKey();
  }
}
