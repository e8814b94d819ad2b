package dev.cinch.lease.witness;

import dev.cinch.lease.OneLine;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import java.util.Arrays;
import java.util.List;
import org.bouncycastle.crypto.signers.Ed25519Signer;

/**
 * Signs each witness by itself with one key. Signing the same witness again yields the same bytes.
 * Thread-safe.
 */
public final class WitnessSigner implements GrantSigner {
  /** Bytes of a signature. */
  static final int SIGNATURE_BYTES = 64;

  private final SigningKey key;

  public WitnessSigner(SigningKey key) {
    this.key = key;
  }

  /**
   * @throws IllegalArgumentException if the witness can't be encoded ({@link WitnessCodec#encode}),
   *     or if its holder has one of {@link OneLine#isHidden}; older services signed such ones
   */
  public SignedWitness sign(Witness witness) {
    OneLine.check("the holder", witness.holder());
    byte[] payload = WitnessCodec.encode(witness);
    var signer = new Ed25519Signer();
    signer.init(true, key.parameters());
    signer.update(payload, 0, payload.length);
    byte[] signature = signer.generateSignature();
    byte[] signed = Arrays.copyOf(payload, payload.length + PublicKey.ID_BYTES + SIGNATURE_BYTES);
    System.arraycopy(key.publicKey().id(), 0, signed, payload.length, PublicKey.ID_BYTES);
    System.arraycopy(signature, 0, signed, payload.length + PublicKey.ID_BYTES, SIGNATURE_BYTES);
    return new SignedWitness(witness, signed);
  }

  @Override
  public List<SignedWitness> sign(List<Witness> witnesses) {
    return witnesses.stream().map(this::sign).toList();
  }

  @Override
  public PublicKey publicKey() {
    return key.publicKey();
  }
}
