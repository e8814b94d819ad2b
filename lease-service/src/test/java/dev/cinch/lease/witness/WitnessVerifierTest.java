package dev.cinch.lease.witness;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.lease.Id;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.witness.WitnessException.Reason;
import java.lang.ref.WeakReference;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.bouncycastle.crypto.params.Ed25519PrivateKeyParameters;
import org.bouncycastle.crypto.signers.Ed25519Signer;
import org.junit.jupiter.api.Test;

final class WitnessVerifierTest {
  private static final SigningKey FIRST = SigningKey.ofSeed(new byte[32]);
  private static final SigningKey SECOND = SigningKey.ofSeed(filled(1));

  private final TrustedKeys both = TrustedKeys.of(FIRST.publicKey(), SECOND.publicKey());
  private final SignedWitness bySecond = sign(SECOND);

  @Test
  void aWitnessOfATrustedKeyIsTaken() throws WitnessException {
    var verifier = new WitnessVerifier(both);
    for (int i = 0; i < 2; i++) {
      SignedWitness found = verifier.verify(bySecond.bytes());
      assertEquals(WitnessCodecTest.example(), found.witness());
      assertEquals(bySecond, found);
    }
  }

  @Test
  @SuppressWarnings("SystemGc") // it does collect what nothing refers to
  void whatWasFoundGoodIsRememberedWithoutBeingKept() throws WitnessException {
    var verifier = new WitnessVerifier(both);
    var found = new WeakReference<>(verifier.verify(bySecond.bytes()));
    for (int i = 0; i < 10 && found.get() != null; i++) {
      System.gc();
    }
    assertNull(found.get());
  }

  @Test
  void signingAgainYieldsTheSameBytes() {
    assertEquals(bySecond, sign(SECOND));
  }

  @Test
  void onlyTheFirstSoManyKeysCountWhereToldSo() {
    assertEquals(Reason.UNKNOWN_KEY, refused(both.first(1), bySecond.bytes()));
    assertEquals(Reason.UNKNOWN_KEY, refused(TrustedKeys.NONE, bySecond.bytes()));
    assertThrows(IllegalArgumentException.class, () -> both.first(3));
  }

  @Test
  void aSignatureByAnotherKeyUnderATrustedIdIsBad() {
    byte[] forged = sign(SECOND).bytes();
    System.arraycopy(FIRST.publicKey().id(), 0, forged, forged.length - 72, 8);
    assertEquals(Reason.BAD_SIGNATURE, refused(both, forged));
  }

  @Test
  void whatFollowsAWitnessIsNotPartOfIt() {
    byte[] good = bySecond.bytes();
    assertEquals(Reason.MALFORMED, refused(both, Arrays.copyOf(good, good.length + 13)));
  }

  /** RFC 8032, section 7.1, test 2: the library does what the standard says. */
  @Test
  void theLibrarySignsAsTheStandardDoes() {
    HexFormat hex = HexFormat.of();
    byte[] seed = hex.parseHex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
    assertEquals(
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        SigningKey.ofSeed(seed).publicKey().toString());
    var signer = new Ed25519Signer();
    signer.init(true, new Ed25519PrivateKeyParameters(seed, 0));
    signer.update(new byte[] {0x72}, 0, 1);
    assertEquals(
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            + "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        hex.formatHex(signer.generateSignature()));
  }

  /** By itself and together with others, in whatever order. */
  @Test
  void f3_aDelegatedKeySignsNoLeaseThatOutlastsIt() throws WitnessException {
    Witness short1 = WitnessCodecTest.example();
    PublicKey key = SECOND.publicKey().until(short1.expiry());
    TrustedKeys keys = TrustedKeys.of(FIRST.publicKey(), key);
    assertEquals(bySecond, new WitnessVerifier(keys).verify(bySecond.bytes()));
    TrustedKeys less = TrustedKeys.of(SECOND.publicKey().until(short1.expiry() - 1));
    assertEquals(Reason.UNKNOWN_KEY, refused(less, bySecond.bytes()));
    Witness long1 = WitnessCodecTest.example(short1.expiry() + 1);
    for (List<Witness> both : List.of(List.of(short1, long1), List.of(long1, short1))) {
      List<byte[]> signed =
          new WitnessSigner(SECOND).sign(both).stream().map(SignedWitness::bytes).toList();
      assertThrows(WitnessException.class, () -> new WitnessVerifier(keys).verifyAll(signed));
      for (int i = 0; i < 2; i++) {
        byte[] one = signed.get(i);
        if (both.get(i) == short1) {
          assertEquals(short1, new WitnessVerifier(keys).verify(one).witness());
        } else {
          assertEquals(Reason.UNKNOWN_KEY, refused(keys, one));
        }
      }
    }
    TrustedKeys longer = TrustedKeys.of(key, SECOND.publicKey().until(long1.expiry()));
    SignedWitness later = new WitnessSigner(SECOND).sign(long1);
    assertEquals(later, new WitnessVerifier(longer).verify(later.bytes()));
  }

  /** Whoever delegates a key says until when, and vouches for nothing else. */
  @Test
  void f3_anEndorsementIsOfOneEnd() {
    var store = new Id(1, 2);
    PublicKey whole = SECOND.publicKey();
    List<PublicKey> keys = List.of(whole, whole.until(1), whole.until(2));
    for (PublicKey signed : keys) {
      byte[] signature = KeyEndorsement.sign(FIRST, store, 2, signed);
      for (PublicKey key : keys) {
        boolean same = key.equals(signed);
        assertEquals(
            same, KeyEndorsement.isBy(FIRST.publicKey(), store, 2, key, signature), "" + key.end());
      }
    }
  }

  private static Reason refused(TrustedKeys keys, byte[] bytes) {
    return assertThrows(WitnessException.class, () -> new WitnessVerifier(keys).verify(bytes))
        .reason();
  }

  private static SignedWitness sign(SigningKey key) {
    return new WitnessSigner(key).sign(WitnessCodecTest.example());
  }

  private static byte[] filled(int value) {
    var bytes = new byte[32];
    Arrays.fill(bytes, (byte) value);
    return bytes;
  }
}
