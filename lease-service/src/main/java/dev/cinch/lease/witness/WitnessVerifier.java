package dev.cinch.lease.witness;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
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
    HashTree.GoodTree tree = null;
    for (byte[] each : signedForms) {
      SignedForm form = SignedForm.of(each);
      if (tree != null && tree.has(form)) {
        SignedWitness decoded = decode(form);
        requireInForce(form, decoded.witness());
        verified.add(decoded);
      } else {
        verified.add(verify(form));
        tree = form.depth() == 0 ? null : new HashTree.GoodTree(form);
      }
    }
    return verified;
  }

  private static boolean isGood(PublicKey key, byte[] statement, byte[] signature) {
    ByteBuffer claim = GoodSignatures.digest(key, statement, signature);
    return GOOD.check(claim, () -> key.hasSigned(signature, statement));
  }

  private SignedWitness verify(SignedForm form) throws WitnessException {
    SignedWitness decoded = decode(form);
    byte[] statement = form.signedStatement();
    byte[] signature = form.signature();
    requireInForce(form, decoded.witness());
    boolean known = false;
    for (PublicKey key : keys.list()) {
      if (form.namesKey(key)) {
        known = true;
        if (isGood(key, statement, signature)) {
          return decoded;
        }
      }
    }
    String id = idText(form.bytes(), form.payload());
    if (!known) {
      throw unknown(decoded.witness(), id);
    }
    throw new WitnessException(
        Reason.BAD_SIGNATURE,
        "bad signature: the witness of "
            + decoded.witness().name()
            + " was not signed by key "
            + id);
  }

  /** A key that is delegated signs no lease that outlasts it. */
  private void requireInForce(SignedForm form, Witness w) throws WitnessException {
    boolean named = false;
    for (PublicKey key : keys.list()) {
      if (form.namesKey(key)) {
        if (w.expiry() <= key.end()) {
          return;
        }
        named = true;
      }
    }
    if (named) {
      throw new WitnessException(
          Reason.UNKNOWN_KEY,
          "unknown key: the witness of %s was signed by %s, which is delegated and ends before it"
              .formatted(w.name(), idText(form.bytes(), form.payload())));
    }
  }

  private static String idText(byte[] signed, int payload) {
    return HexFormat.of().formatHex(signed, payload, payload + PublicKey.ID_BYTES);
  }

  private WitnessException unknown(Witness w, String id) {
    return new WitnessException(
        Reason.UNKNOWN_KEY,
        "unknown key: the witness of "
            + w.name()
            + " was signed by "
            + id
            + ", not one of "
            + keys);
  }
}
