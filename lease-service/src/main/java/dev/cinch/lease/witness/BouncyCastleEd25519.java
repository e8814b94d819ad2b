package dev.cinch.lease.witness;

import org.bouncycastle.crypto.params.Ed25519PrivateKeyParameters;
import org.bouncycastle.crypto.params.Ed25519PublicKeyParameters;
import org.bouncycastle.crypto.signers.Ed25519Signer;

/** Bouncy Castle's low-level API: the default, and the one whose verdicts count. */
final class BouncyCastleEd25519 implements Ed25519 {
  static final BouncyCastleEd25519 INSTANCE = new BouncyCastleEd25519();

  private BouncyCastleEd25519() {}

  @Override
  public Signer signer(byte[] seed) {
    var key = new Ed25519PrivateKeyParameters(seed, 0);
    return parts -> {
      var signer = new Ed25519Signer();
      signer.init(true, key);
      for (byte[] part : parts) {
        signer.update(part, 0, part.length);
      }
      return signer.generateSignature();
    };
  }

  @Override
  public Checker checker(byte[] publicKey) {
    Ed25519PublicKeyParameters point;
    try {
      // Finding the point takes a fifth of a verification, so the checker keeps it.
      point = new Ed25519PublicKeyParameters(publicKey, 0);
    } catch (IllegalArgumentException e) {
      return (signature, parts) -> false;
    }
    return (signature, parts) -> {
      var verifier = new Ed25519Signer();
      verifier.init(false, point);
      for (byte[] part : parts) {
        verifier.update(part, 0, part.length);
      }
      return verifier.verifySignature(signature);
    };
  }

  @Override
  public String title() {
    return "Bouncy Castle";
  }
}
