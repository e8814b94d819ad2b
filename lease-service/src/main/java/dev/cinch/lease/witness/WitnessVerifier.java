package dev.cinch.lease.witness;

import static dev.cinch.lease.witness.WitnessException.malformed;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.witness.WitnessException.Reason;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import org.bouncycastle.crypto.params.Ed25519PublicKeyParameters;
import org.bouncycastle.crypto.signers.Ed25519Signer;

/**
 * Checks signed witnesses against trusted keys. Thread-safe.
 *
 * <p>A process remembers the last few thousand that it found good, by all their bytes and the key,
 * since every data file of a lease carries the same ones; it never remembers bad ones.
 */
@CheckReturnValue
public final class WitnessVerifier {
  private static final GoodSignatures GOOD = new GoodSignatures();

  private final TrustedKeys keys;

  public WitnessVerifier(TrustedKeys keys) {
    this.keys = keys;
  }

  /**
   * Decodes without looking at the signature, for callers that need not trust: tools that print,
   * and the lease service's client.
   *
   * @throws WitnessException {@code MALFORMED} if the bytes are not a signed witness and nothing
   *     else
   */
  public static SignedWitness decode(byte[] signedForm) throws WitnessException {
    int payload = WitnessCodec.payloadLength(signedForm);
    int expected = payload + PublicKey.ID_BYTES + WitnessSigner.SIGNATURE_BYTES;
    if (signedForm.length != expected) {
      throw malformed(signedForm.length + " bytes signed, not " + expected);
    }
    return new SignedWitness(WitnessCodec.decode(Arrays.copyOf(signedForm, payload)), signedForm);
  }

  /**
   * Length of the signed witness that starts at an offset of a larger array.
   *
   * @throws WitnessException {@code MALFORMED} if none starts there, or it ends past the array
   */
  public static int signedLength(byte[] bytes, int offset) throws WitnessException {
    byte[] rest =
        Arrays.copyOfRange(
            bytes, offset, Math.min(bytes.length, offset + WitnessCodec.MAX_PAYLOAD_BYTES));
    int length =
        WitnessCodec.payloadLength(rest) + PublicKey.ID_BYTES + WitnessSigner.SIGNATURE_BYTES;
    if (length > bytes.length - offset) {
      throw malformed("a signed witness of " + length + " bytes in " + (bytes.length - offset));
    }
    return length;
  }

  /**
   * Decodes and checks.
   *
   * @throws WitnessException if the bytes are not a witness signed with a trusted key
   */
  public SignedWitness verify(byte[] signedForm) throws WitnessException {
    SignedWitness decoded = decode(signedForm);
    int payload = signedForm.length - PublicKey.ID_BYTES - WitnessSigner.SIGNATURE_BYTES;
    boolean known = false;
    for (PublicKey key : keys.list()) {
      if (key.hasIdAt(signedForm, payload)) {
        known = true;
        ByteBuffer claim = GoodSignatures.digest(signedForm, key);
        if (GOOD.has(claim)) {
          return decoded;
        }
        if (signed(signedForm, payload, key)) {
          GOOD.add(claim);
          return decoded;
        }
      }
    }
    String id = HexFormat.of().formatHex(signedForm, payload, payload + PublicKey.ID_BYTES);
    String of = "the witness of " + decoded.witness().name();
    throw known
        ? new WitnessException(
            Reason.BAD_SIGNATURE, "bad signature: " + of + " was not signed by key " + id)
        : new WitnessException(
            Reason.UNKNOWN_KEY,
            "unknown key: " + of + " was signed by " + id + ", not one of " + keys);
  }

  private static boolean signed(byte[] signedForm, int payload, PublicKey key) {
    var verifier = new Ed25519Signer();
    try {
      verifier.init(false, new Ed25519PublicKeyParameters(key.bytes(), 0));
    } catch (IllegalArgumentException e) {
      // 32 bytes that are no point of the curve: nothing is signed by them.
      return false;
    }
    verifier.update(signedForm, 0, payload);
    return verifier.verifySignature(
        Arrays.copyOfRange(signedForm, payload + PublicKey.ID_BYTES, signedForm.length));
  }
}
