package dev.cinch.lease.witness;

import com.google.errorprone.annotations.CheckReturnValue;

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
    return key.sign(parts);
  }

  /**
   * Whether a signature of any length, by a key of any 32 bytes, is good for these parts. None is
   * by a cell's: that takes a majority of its nodes.
   */
  public static boolean isBy(PublicKey key, byte[] signature, byte[]... parts) {
    return signature.length == BYTES && key.cell().isEmpty() && key.isGood(signature, parts);
  }
}
