package dev.cinch.lease.witness;

import com.google.errorprone.annotations.CheckReturnValue;
import org.bouncycastle.crypto.signers.Ed25519Signer;

/**
 * Ed25519 signatures (RFC 8032) of bytes that are given in parts and signed as one. What is signed
 * begins with text that says what it is: a witness begins with a length below 32,768, so none of
 * them can be taken for a witness, or for another kind. Stateless.
 */
@CheckReturnValue
public final class Signatures {
  /** Bytes of a signature. */
  public static final int BYTES = 64;

  private Signatures() {}

  /** Signs. The same yields the same bytes. */
  public static byte[] sign(SigningKey key, byte[]... parts) {
    var signer = new Ed25519Signer();
    signer.init(true, key.parameters());
    for (byte[] part : parts) {
      signer.update(part, 0, part.length);
    }
    return signer.generateSignature();
  }

  /** Whether a signature of any length, by a key of any 32 bytes, is good for these parts. */
  public static boolean isBy(PublicKey key, byte[] signature, byte[]... parts) {
    var verifier = new Ed25519Signer();
    try {
      verifier.init(false, key.point());
    } catch (IllegalArgumentException e) {
      return false; // 32 bytes that are no point of the curve
    }
    for (byte[] part : parts) {
      verifier.update(part, 0, part.length);
    }
    return signature.length == BYTES && verifier.verifySignature(signature);
  }
}
