package dev.cinch.lease.witness;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.lease.Altered;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.witness.WitnessException.Reason;
import java.io.ByteArrayOutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import org.bouncycastle.crypto.params.Ed25519PrivateKeyParameters;
import org.bouncycastle.crypto.signers.Ed25519Signer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Witnesses that share the signature of a tree's root. */
final class SharedSignatureTest {
  private static final SigningKey KEY = SigningKey.ofSeed(new byte[32]);

  private final WitnessSigner signer = new WitnessSigner(KEY);
  private final WitnessVerifier verifier = new WitnessVerifier(TrustedKeys.of(KEY.publicKey()));

  static List<Witness> witnesses(int n) {
    return IntStream.range(0, n).mapToObj(i -> named("name-" + i)).toList();
  }

  private static Witness named(String name) {
    return named(WitnessCodecTest.example(), name);
  }

  static Witness named(Witness w, String name) {
    return Altered.with(w, "name", new LeaseName(name));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 1_024, 1_025, 2_050})
  void allAreTakenWhateverTheirNumber(int n) throws WitnessException {
    List<SignedWitness> signed = signer.sign(witnesses(n));
    assertEquals(witnesses(n), signed.stream().map(SignedWitness::witness).toList());
    Set<List<Byte>> signatures = new HashSet<>();
    for (SignedWitness each : signed) {
      assertEquals(each, verifier.verify(each.bytes()));
      assertEquals(each, WitnessVerifier.decode(each.bytes()));
      signatures.add(boxed(SignedForm.of(each.bytes()).signature()));
    }
    assertEquals((n + 1_023) / 1_024, signatures.size());
  }

  @Test
  void oneAloneIsSignedByItself() {
    assertEquals(
        List.of(signer.sign(WitnessCodecTest.example())),
        signer.sign(List.of(WitnessCodecTest.example())));
  }

  @Test
  void signingTheSameAgainYieldsTheSameBytes() {
    assertEquals(signer.sign(witnesses(5)), signer.sign(witnesses(5)));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 5, 8, 33, 1_024, 1_030, 2_050})
  void manyAreVerifiedTogetherInAnyOrder(int n) throws WitnessException {
    List<SignedWitness> signed = new ArrayList<>(signer.sign(witnesses(n)));
    assertEquals(signed, verifier.verifyAll(bytes(signed)));
    Collections.shuffle(signed, new Random(n));
    assertEquals(signed, verifier.verifyAll(bytes(signed)));
  }

  @Test
  void ofManyTheFirstBadOneIsTold() throws WitnessException {
    List<byte[]> all = bytes(signer.sign(witnesses(6)));
    byte[] other = new WitnessSigner(SigningKey.generate()).sign(witnesses(6)).get(3).bytes();
    all.set(3, other);
    WitnessException e = assertThrows(WitnessException.class, () -> verifier.verifyAll(all));
    assertEquals(Reason.UNKNOWN_KEY, e.reason());
    // Under the key and signature of the others, but of another tree.
    byte[] first = all.get(0);
    int payload = SignedForm.of(first).payload();
    byte[] foreign = bytes(signer.sign(witnesses(7))).get(3);
    System.arraycopy(first, payload, foreign, payload, 72);
    all.set(3, foreign);
    e = assertThrows(WitnessException.class, () -> verifier.verifyAll(all));
    assertEquals(Reason.BAD_SIGNATURE, e.reason());
  }

  private static List<byte[]> bytes(List<SignedWitness> signed) {
    return new ArrayList<>(signed.stream().map(SignedWitness::bytes).toList());
  }

  /** A good root stands for what is under it and nothing else. */
  @Test
  void anotherSignatureOfARememberedRootIsBad() throws WitnessException {
    byte[] good = signer.sign(witnesses(2)).get(0).bytes();
    SignedWitness unused = verifier.verify(good);
    byte[] forged = good.clone();
    Arrays.fill(
        forged, SignedForm.of(good).payload() + 8, SignedForm.of(good).payload() + 72, (byte) 1);
    assertEquals(Reason.BAD_SIGNATURE, refused(forged));
  }

  /** As it would be if inner nodes were hashed like leaves: two hashes are no payload. */
  @Test
  void aNodeIsNoLeaf() {
    byte[] good = signer.sign(witnesses(4)).get(0).bytes();
    int payload = good.length - 76 - 64;
    byte[] cut = Arrays.copyOf(good, good.length - 32);
    System.arraycopy(good, payload + 76 + 32, cut, payload + 76, 32);
    assertEquals(Reason.BAD_SIGNATURE, refused(cut));
  }

  @ParameterizedTest
  @ValueSource(ints = {-33, -32, -31, -1, 1, 4, 31, 32, 15 * 32})
  void anotherLengthIsMalformedOrBad(int more) {
    byte[] good = signer.sign(witnesses(2)).get(0).bytes();
    Reason reason = refused(Arrays.copyOf(good, good.length + more));
    assertEquals(more > 0 && more % 32 == 0 ? Reason.BAD_SIGNATURE : Reason.MALFORMED, reason);
  }

  @Test
  void atMostSixteenLevels() {
    byte[] good = signer.sign(witnesses(2)).get(0).bytes();
    assertEquals(Reason.MALFORMED, refused(Arrays.copyOf(good, good.length + 16 * 32)));
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 256, -1})
  void aNumberBeyondTheTreeIsMalformed(int leaf) throws WitnessException {
    byte[] bad = signer.sign(witnesses(2)).get(0).bytes();
    int at = SignedForm.of(bad).payload() + 72;
    for (int i = 0; i < 4; i++) {
      bad[at + i] = (byte) (leaf >> (8 * i));
    }
    assertEquals(Reason.MALFORMED, refused(bad));
  }

  /** From the page alone, without the classes that make it. */
  @Test
  void theBytesAreThoseOfTheFormat() throws NoSuchAlgorithmException {
    List<Witness> three = witnesses(3);
    byte[][] leaves = new byte[3][];
    for (int i = 0; i < 3; i++) {
      leaves[i] = sha256(new byte[] {0}, WitnessCodec.encode(three.get(i)));
    }
    byte[] one = {1};
    byte[] left = sha256(one, leaves[0], leaves[1]);
    byte[] right = sha256(one, leaves[2], new byte[32]);
    byte[] statement =
        concat("cinch witness tree 1\n".getBytes(US_ASCII), sha256(one, left, right));
    var ed25519 = new Ed25519Signer();
    ed25519.init(true, new Ed25519PrivateKeyParameters(new byte[32], 0)); // KEY's seed
    ed25519.update(statement, 0, statement.length);
    byte[] signature = ed25519.generateSignature();
    byte[] keyId = KEY.publicKey().id();
    byte[] expected =
        concat(
            WitnessCodec.encode(three.get(1)),
            keyId,
            signature,
            new byte[] {1, 0, 0, 0},
            leaves[0],
            right);
    assertArrayEquals(expected, signer.sign(three).get(1).bytes());
    byte[] last =
        concat(
            WitnessCodec.encode(three.get(2)),
            keyId,
            signature,
            new byte[] {2, 0, 0, 0},
            new byte[32],
            left);
    assertArrayEquals(last, signer.sign(three).get(2).bytes());
  }

  @Test
  void ofNoWitnessesThereAreNone() {
    assertFalse(signer.sign(List.of()).iterator().hasNext());
  }

  static int payload(byte[] signed) {
    try {
      return WitnessCodec.payloadLength(signed);
    } catch (WitnessException e) {
      throw new AssertionError(e);
    }
  }

  private Reason refused(byte[] bytes) {
    return assertThrows(WitnessException.class, () -> verifier.verify(bytes)).reason();
  }

  private static byte[] sha256(byte[]... parts) throws NoSuchAlgorithmException {
    return MessageDigest.getInstance("SHA-256").digest(concat(parts));
  }

  private static byte[] concat(byte[]... parts) {
    var out = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      out.writeBytes(part);
    }
    return out.toByteArray();
  }

  private static List<Byte> boxed(byte[] bytes) {
    return IntStream.range(0, bytes.length).mapToObj(i -> bytes[i]).toList();
  }
}
