package dev.cinch.lease.witness;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.Signature;
import java.security.spec.EdECPrivateKeySpec;
import java.security.spec.NamedParameterSpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/**
 * The signatures are those of RFC 8032, and the verdicts of all versions of the library must be the
 * same: for good ones, for random edits, and for what only the holder of a signing key can craft.
 */
final class SignaturesTest {
  private static final byte[] X509 = HexFormat.of().parseHex("302a300506032b6570032100");

  private final Random random = new Random(25_519);

  private byte[] bytes(int n) {
    byte[] bytes = new byte[n];
    random.nextBytes(bytes);
    return bytes;
  }

  private BigInteger scalar() {
    return new BigInteger(1, bytes(40)).mod(EdwardsPoint.L);
  }

  private static byte[] join(byte[] r, BigInteger s) {
    byte[] both = Arrays.copyOf(r, PublicKey.SIGNATURE_BYTES);
    System.arraycopy(EdwardsPoint.little(s), 0, both, 32, 32);
    return both;
  }

  private static boolean isGood(byte[] key, byte[] signature, byte[] message) {
    return new PublicKey(key).hasSigned(signature, message);
  }

  private static byte[] signedByTheJdk(byte[] seed, byte[] message)
      throws GeneralSecurityException {
    Signature jdk = Signature.getInstance("Ed25519");
    var spec = new EdECPrivateKeySpec(NamedParameterSpec.ED25519, seed);
    jdk.initSign(KeyFactory.getInstance("Ed25519").generatePrivate(spec));
    jdk.update(message);
    return jdk.sign();
  }

  private static boolean isGoodToTheJdk(byte[] key, byte[] signature, byte[] message) {
    try {
      Signature jdk = Signature.getInstance("Ed25519");
      byte[] encoded = Arrays.copyOf(X509, X509.length + key.length);
      System.arraycopy(key, 0, encoded, X509.length, key.length);
      var spec = new X509EncodedKeySpec(encoded);
      jdk.initVerify(KeyFactory.getInstance("Ed25519").generatePublic(spec));
      jdk.update(message);
      return jdk.verify(signature);
    } catch (GeneralSecurityException e) {
      return false; // S above L, or no point
    }
  }

  @Test
  void theJdkSignsAndJudgesAlike() throws GeneralSecurityException {
    for (int i = 0; i < 200; i++) {
      byte[] seed = bytes(32);
      SigningKey signing = SigningKey.ofSeed(seed);
      byte[] message = bytes(random.nextInt(300));
      int cut = random.nextInt(message.length + 1);
      byte[] signature =
          signing.sign(
              Arrays.copyOf(message, cut),
              new byte[0],
              Arrays.copyOfRange(message, cut, message.length));
      assertArrayEquals(signedByTheJdk(seed, message), signature);
      byte[] key = signing.publicKey().bytes();
      assertTrue(isGood(key, signature, message));
      byte[][] edited = edited(key, signature, message);
      assertEquals(
          isGoodToTheJdk(edited[0], edited[1], edited[2]),
          isGood(edited[0], edited[1], edited[2]),
          () -> Arrays.stream(edited).map(HexFormat.of()::formatHex).toList().toString());
    }
  }

  private byte[][] edited(byte[] key, byte[] signature, byte[] message) {
    byte[][] edited = {key.clone(), signature.clone(), message.clone()};
    byte[] bytes = edited[random.nextInt(message.length == 0 ? 2 : 3)];
    int edits = 1 + random.nextInt(3);
    for (int i = 0; i < edits; i++) {
      int at = random.nextInt(bytes.length);
      switch (random.nextInt(4)) {
        case 0 -> bytes[at] ^= (byte) (1 << random.nextInt(8));
        case 1 -> bytes[at] = (byte) random.nextInt(256);
        case 2 -> Arrays.fill(bytes, at, bytes.length, (byte) (random.nextBoolean() ? 0 : 0xff));
        default -> bytes[bytes.length - 1] ^= (byte) (1 << random.nextInt(8));
      }
    }
    return edited;
  }

  /** S is to be below L: RFC 8032, section 5.1.7. */
  @Test
  void largeS() {
    SigningKey signing = SigningKey.ofSeed(bytes(32));
    byte[] key = signing.publicKey().bytes();
    byte[] message = bytes(100);
    byte[] signature = signing.sign(message);
    byte[] r = Arrays.copyOf(signature, 32);
    BigInteger s = little(signature, 32);
    assertTrue(isGood(key, join(r, s), message));
    for (int i = 1; i < 16; i++) {
      BigInteger large = s.add(EdwardsPoint.L.multiply(BigInteger.valueOf(i)));
      if (large.bitLength() <= 256) {
        assertFalse(isGood(key, join(r, large), message), i + " L more");
      }
    }
    for (int bit = 253; bit < 256; bit++) {
      assertFalse(isGood(key, join(r, s.setBit(bit)), message), "bit " + bit);
    }
  }

  private static BigInteger little(byte[] bytes, int from) {
    var big = new byte[32];
    for (int i = 0; i < 32; i++) {
      big[i] = bytes[from + 31 - i];
    }
    return new BigInteger(1, big);
  }

  /** A part of small order in the key or in R vanishes: a multiple of the equation is checked. */
  @Test
  void partsOfSmallOrder() {
    List<EdwardsPoint> small = EdwardsPoint.ofSmallOrder();
    for (int a = 0; a < 8; a++) {
      for (int b = 0; b < 8; b++) {
        BigInteger secret = scalar();
        byte[] key = EdwardsPoint.BASE.times(secret).plus(small.get(a)).encoded();
        for (int i = 0; i < 4; i++) {
          BigInteger nonce = i == 3 ? BigInteger.ZERO : scalar(); // R of small order
          byte[] r = EdwardsPoint.BASE.times(nonce).plus(small.get(b)).encoded();
          byte[] message = bytes(20);
          BigInteger k = EdwardsPoint.challenge(r, key, message);
          byte[] signature = join(r, nonce.add(k.multiply(secret)).mod(EdwardsPoint.L));
          assertTrue(isGood(key, signature, message));
          assertFalse(isGood(key, signature, bytes(20)));
        }
      }
    }
  }

  /** No key is of small order, and neither a key nor R is in another than its one encoding. */
  @Test
  void oddEncodings() {
    List<byte[]> odd = new ArrayList<>();
    List<String> points = new ArrayList<>();
    for (EdwardsPoint point : EdwardsPoint.ofSmallOrder()) {
      points.add(HexFormat.of().formatHex(point.encoded()));
      odd.add(point.encoded());
      odd.add(EdwardsPoint.encoding(point.y(), !point.x().testBit(0)));
    }
    for (int y = 0; y < 19; y++) { // all that can be written twice
      for (boolean negative : new boolean[] {false, true}) {
        odd.add(EdwardsPoint.encoding(BigInteger.valueOf(y).add(EdwardsPoint.P), negative));
      }
    }
    BigInteger secret = scalar();
    byte[] usual = EdwardsPoint.BASE.times(secret).encoded();
    for (byte[] r : odd) {
      // As good as the holder of the usual key can make it, if R is of small order.
      byte[] message = bytes(8);
      BigInteger k = EdwardsPoint.challenge(r, usual, message);
      byte[] signature = join(r, k.multiply(secret).mod(EdwardsPoint.L));
      String hex = HexFormat.of().formatHex(r);
      assertEquals(points.contains(hex), isGood(usual, signature, message), hex);
      for (byte[] key : odd) {
        assertFalse(isGood(key, join(r, BigInteger.ZERO), bytes(8)));
        assertFalse(isGood(key, join(r, BigInteger.ONE), bytes(8)));
      }
    }
    for (byte[] key : odd) {
      for (int i = 0; i < 8; i++) { // k·A is neutral for every eighth message
        BigInteger nonce = scalar();
        byte[] r = EdwardsPoint.BASE.times(nonce).encoded();
        assertFalse(isGood(key, join(r, nonce), bytes(8)));
      }
    }
  }

  /** One key for many threads at once, each with messages of its own. */
  @Test
  void atOnce() throws Exception {
    byte[] seed = bytes(32);
    SigningKey shared = SigningKey.ofSeed(seed);
    var tasks = new ArrayList<Callable<Boolean>>();
    for (int thread = 0; thread < 8; thread++) {
      long own = thread;
      tasks.add(
          () -> {
            var messages = new Random(own);
            boolean right = true;
            for (int i = 0; i < 100; i++) {
              byte[] message = new byte[100];
              messages.nextBytes(message);
              byte[] signature = SigningKey.ofSeed(seed).sign(message);
              right &= Arrays.equals(signature, shared.sign(message));
              right &= shared.publicKey().hasSigned(signature, message);
              message[i % 100] ^= 1;
              right &= !shared.publicKey().hasSigned(signature, message);
            }
            return right;
          });
    }
    var threads = Executors.newFixedThreadPool(8);
    try {
      for (Future<Boolean> each : threads.invokeAll(tasks)) {
        assertTrue(each.get());
      }
    } finally {
      threads.shutdown();
    }
  }

  @Test
  void thePointsAreThoseOfTheCurve() {
    List<EdwardsPoint> small = EdwardsPoint.ofSmallOrder();
    assertEquals(8, small.stream().distinct().count());
    assertEquals(EdwardsPoint.NEUTRAL, EdwardsPoint.BASE.times(EdwardsPoint.L));
    for (EdwardsPoint point : small) {
      assertEquals(EdwardsPoint.NEUTRAL, point.times(BigInteger.valueOf(8)));
    }
  }
}
