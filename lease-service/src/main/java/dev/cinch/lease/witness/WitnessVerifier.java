package dev.cinch.lease.witness;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.witness.WitnessException.Reason;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;

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
    return MajorityForm.isOf(signedForm)
        ? decode(MajorityForm.of(signedForm))
        : decode(SignedForm.of(signedForm));
  }

  private static SignedWitness decode(MajorityForm form) throws WitnessException {
    return new SignedWitness(WitnessCodec.decode(form.bytes(), form.payload()), form.bytes());
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
    return MajorityForm.isOf(signedForm)
        ? verify(MajorityForm.of(signedForm))
        : verify(SignedForm.of(signedForm));
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
      if (MajorityForm.isOf(each)) {
        verified.add(verify(MajorityForm.of(each)));
        continue;
      }
      SignedForm form = SignedForm.of(each);
      if (tree != null && tree.has(form)) {
        SignedWitness decoded = ofOne(decode(form));
        requireInForce(form, decoded.witness());
        verified.add(decoded);
      } else {
        verified.add(verify(form));
        tree = form.depth() == 0 ? null : new HashTree.GoodTree(form);
      }
    }
    return verified;
  }

  /** One key is enough for a witness, unless a cell's nodes sign those of its instance. */
  private SignedWitness ofOne(SignedWitness decoded) throws WitnessException {
    Witness w = decoded.witness();
    Optional<CellKeys> cell = keys.cell(w.instance());
    if (cell.isPresent()) {
      throw noMajority(w, cell.get(), "one key signed it");
    }
    return decoded;
  }

  private static WitnessException noMajority(Witness w, CellKeys cell, String what) {
    return new WitnessException(
        Reason.NO_MAJORITY,
        "no majority: the witness of %s is of instance %d, a cell's of which %d of %d nodes sign, and %s"
            .formatted(w.name(), w.instance(), cell.majority(), cell.nodes().size(), what));
  }

  /** As many as there are must be good: more than are needed are no excuse for a bad one. */
  private SignedWitness verify(MajorityForm form) throws WitnessException {
    SignedWitness decoded = decode(form);
    Witness w = decoded.witness();
    Optional<CellKeys> known =
        keys.list().stream().filter(form::namesKey).flatMap(key -> key.cell().stream()).findFirst();
    if (known.isEmpty()) {
      throw unknown(w, idText(form.bytes(), form.payload()));
    }
    CellKeys cell = known.get();
    if (cell.instance() != w.instance()) {
      throw new WitnessException(
          Reason.BAD_SIGNATURE,
          "bad signature: the witness of %s is of instance %d, and the cell that signed it is instance %d"
              .formatted(w.name(), w.instance(), cell.instance()));
    }
    byte[] payload = Arrays.copyOf(form.bytes(), form.payload());
    for (MajorityForm.Part part : form.parts()) {
      if (part.node() > cell.nodes().size() || !isGood(cell, part, payload)) {
        throw new WitnessException(
            Reason.BAD_SIGNATURE,
            "bad signature: the witness of %s was not signed by node %d of instance %d"
                .formatted(w.name(), part.node(), w.instance()));
      }
    }
    if (form.parts().size() < cell.majority()) {
      throw noMajority(w, cell, form.parts().size() + " did");
    }
    return decoded;
  }

  private static boolean isGood(CellKeys cell, MajorityForm.Part part, byte[] payload) {
    PublicKey key = cell.nodes().get(part.node() - 1);
    return isGood(key, part.statement(payload), part.signature());
  }

  private static boolean isGood(PublicKey key, byte[] statement, byte[] signature) {
    ByteBuffer claim = GoodSignatures.digest(key, statement, signature);
    return GOOD.check(claim, () -> key.hasSigned(signature, statement));
  }

  private SignedWitness verify(SignedForm form) throws WitnessException {
    SignedWitness decoded = ofOne(decode(form));
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
