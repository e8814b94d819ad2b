package dev.cinch.lease.witness;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.witness.WitnessException.Reason;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/**
 * Checks signed witnesses against trusted keys. Thread-safe.
 *
 * <p>A process remembers the last few thousand signatures that it found good, each with what it
 * signs and the key, since every data file of a lease carries the same witnesses, and witnesses
 * signed together share one. It never remembers bad ones.
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
    return decode(SignedForm.of(signedForm));
  }

  private static SignedWitness decode(SignedForm form) throws WitnessException {
    return new SignedWitness(WitnessCodec.decode(form.bytes(), form.payload()), form.bytes());
  }

  /**
   * Decodes and checks.
   *
   * @throws WitnessException if the bytes are not a witness signed with a trusted key
   */
  public SignedWitness verify(byte[] signedForm) throws WitnessException {
    return verify(SignedForm.of(signedForm));
  }

  /**
   * Decodes and checks several. Those next to each other that share a signature take little longer
   * than to decode them.
   *
   * @throws WitnessException as {@link #verify(byte[])}, of the first that is bad
   */
  public List<SignedWitness> verifyAll(List<byte[]> signedForms) throws WitnessException {
    var verified = new ArrayList<SignedWitness>(signedForms.size());
    GoodTree tree = null;
    for (byte[] each : signedForms) {
      SignedForm form = SignedForm.of(each);
      if (tree != null && tree.has(form)) {
        verified.add(decode(form));
      } else {
        verified.add(verify(form));
        tree = form.depth() == 0 ? null : new GoodTree(form);
      }
    }
    return verified;
  }

  private SignedWitness verify(SignedForm form) throws WitnessException {
    SignedWitness decoded = decode(form);
    byte[] statement = form.signedStatement();
    byte[] signature = form.signature();
    boolean known = false;
    for (PublicKey key : keys.list()) {
      if (form.namesKey(key)) {
        known = true;
        ByteBuffer claim = GoodSignatures.digest(key, statement, signature);
        if (GOOD.check(claim, () -> Signatures.isBy(key, signature, statement))) {
          return decoded;
        }
      }
    }
    int at = form.payload();
    String id = HexFormat.of().formatHex(form.bytes(), at, at + PublicKey.ID_BYTES);
    String of = "the witness of " + decoded.witness().name();
    throw known
        ? new WitnessException(
            Reason.BAD_SIGNATURE, "bad signature: " + of + " was not signed by key " + id)
        : new WitnessException(
            Reason.UNKNOWN_KEY,
            "unknown key: " + of + " was signed by " + id + ", not one of " + keys);
  }
}
