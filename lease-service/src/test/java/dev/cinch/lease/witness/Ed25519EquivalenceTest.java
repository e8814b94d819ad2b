package dev.cinch.lease.witness;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.Provider;
import java.security.Security;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Whatever the library, the signatures and the verdicts are those of Bouncy Castle: for good ones,
 * for random edits, and for what only the holder of a signing key can craft.
 */
final class Ed25519EquivalenceTest {
  private static final int EDITS = 4_000;
  private static final Ed25519 EXPECTED = BouncyCastleEd25519.INSTANCE;

  /** Each as a provider of {@code java.security}. */
  enum Library {
    /** The add-on. */
    CORRETTO(1) {
      @Override
      Ed25519 get() {
        boolean there;
        try {
          Class<?> unused = Class.forName(Ed25519Choice.NATIVE, false, getClass().getClassLoader());
          there = true;
        } catch (ClassNotFoundException e) {
          there = false;
        }
        assumeTrue(there, "the add-on is for Linux on x86-64 and ARM, and tests have the former");
        return Ed25519Choice.choose("native", Ed25519Choice.NATIVE);
      }
    },
    /** Everywhere, and thirty times as slow. */
    JDK(20) {
      @Override
      Ed25519 get() throws GeneralSecurityException {
        Provider provider = Security.getProvider("SunEC");
        assumeTrue(provider != null, "this Java has no SunEC");
        var library = new ProviderEd25519(provider);
        Ed25519SelfTest.run(library);
        return library;
      }
    };

    /** Of so many edits, one is tried. */
    final int share;

    Library(int share) {
      this.share = share;
    }

    abstract Ed25519 get() throws GeneralSecurityException;
  }

  private final Random random = new Random(25_519);
  private int compared;
  private int taken;

  @AfterEach
  void bothVerdictsWereThere() {
    assertTrue(compared == 0 || taken > 0 && taken < compared, taken + " of " + compared);
  }

  /** What Bouncy Castle says, which the other says too. */
  private boolean agreed(Ed25519 library, byte[] key, byte[] signature, byte[] message) {
    boolean expected = EXPECTED.checker(key).isGood(signature, message);
    Ed25519.Checker checker = library.checker(key);
    for (int i = 0; i < 2; i++) { // the second time with what the first one left
      assertEquals(
          expected,
          checker.isGood(signature, message),
          () -> hex(key) + " " + hex(signature) + " " + hex(message));
    }
    compared++;
    taken += expected ? 1 : 0;
    return expected;
  }

  private static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }

  private byte[] bytes(int n) {
    byte[] bytes = new byte[n];
    random.nextBytes(bytes);
    return bytes;
  }

  private BigInteger scalar() {
    return new BigInteger(1, bytes(40)).mod(EdwardsPoint.L);
  }

  private static byte[] join(byte[] r, BigInteger s) {
    byte[] both = Arrays.copyOf(r, Signatures.BYTES);
    System.arraycopy(EdwardsPoint.little(s), 0, both, 32, 32);
    return both;
  }

  @Test
  void theAddOnIsWhatIsTested() throws GeneralSecurityException {
    Ed25519 library = assertInstanceOf(ProviderEd25519.class, Library.CORRETTO.get());
    assertTrue(library.title().contains("Corretto"), library.title());
  }

  @ParameterizedTest
  @EnumSource(Library.class)
  void vectors(Library which) throws Exception {
    Ed25519 library = which.get();
    Path file = Path.of("..", "docs", "vectors", "witnesses.jsonl");
    for (String line : Files.readAllLines(file, UTF_8)) {
      JsonNode vector = new JsonMapper().readTree(line);
      SignedForm form;
      try {
        form = SignedForm.of(HexFormat.of().parseHex(vector.get("signed").textValue()));
      } catch (WitnessException e) {
        continue; // no signature to look at
      }
      byte[] key = PublicKey.parse(vector.get("key").textValue()).bytes();
      boolean good = agreed(library, key, form.signature(), form.signedStatement());
      assertTrue(good || !vector.get("good").booleanValue(), line);
    }
  }

  @ParameterizedTest
  @EnumSource(Library.class)
  void signaturesAndTheirRandomEdits(Library which) throws GeneralSecurityException {
    Ed25519 library = which.get();
    for (int i = 0; i < EDITS / which.share; i++) {
      byte[] seed = bytes(32);
      byte[] message = bytes(random.nextInt(300));
      byte[] signature = EXPECTED.signer(seed).sign(message);
      int cut = random.nextInt(message.length + 1);
      assertArrayEquals(
          signature,
          library
              .signer(seed)
              .sign(
                  Arrays.copyOf(message, cut),
                  new byte[0],
                  Arrays.copyOfRange(message, cut, message.length)));
      byte[] key = SigningKey.ofSeed(seed).publicKey().bytes();
      assertTrue(agreed(library, key, signature, message));
      agreedOfEdit(library, key, signature, message);
    }
  }

  private void agreedOfEdit(Ed25519 library, byte[] key, byte[] signature, byte[] message) {
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
    boolean unused = agreed(library, edited[0], edited[1], edited[2]);
  }

  /** S is to be below L: RFC 8032, section 5.1.7. */
  @ParameterizedTest
  @EnumSource(Library.class)
  void largeS(Library which) throws GeneralSecurityException {
    Ed25519 library = which.get();
    byte[] seed = bytes(32);
    byte[] key = SigningKey.ofSeed(seed).publicKey().bytes();
    byte[] message = bytes(100);
    byte[] signature = EXPECTED.signer(seed).sign(message);
    byte[] r = Arrays.copyOf(signature, 32);
    BigInteger s = little(signature, 32);
    assertTrue(agreed(library, key, join(r, s), message));
    for (int i = 1; i < 16; i++) {
      BigInteger large = s.add(EdwardsPoint.L.multiply(BigInteger.valueOf(i)));
      if (large.bitLength() <= 256) {
        assertFalse(agreed(library, key, join(r, large), message), i + " L more");
      }
    }
    for (int bit = 253; bit < 256; bit++) {
      assertFalse(agreed(library, key, join(r, s.setBit(bit)), message), "bit " + bit);
    }
    for (int less = 0; less < 3; less++) { // the holder of a key can have any S: A is -R / k
      BigInteger odd = EdwardsPoint.L.subtract(BigInteger.valueOf(less));
      boolean unused = agreed(library, key, join(r, odd), message);
    }
  }

  private static BigInteger little(byte[] bytes, int from) {
    var big = new byte[32];
    for (int i = 0; i < 32; i++) {
      big[i] = bytes[from + 31 - i];
    }
    return new BigInteger(1, big);
  }

  /**
   * The holder of a key adds points of small order to its key, to R, or to both. Here libraries
   * differ: Bouncy Castle takes all of these, most others few.
   */
  @ParameterizedTest
  @EnumSource(Library.class)
  void partsOfSmallOrder(Library which) throws GeneralSecurityException {
    Ed25519 library = which.get();
    List<EdwardsPoint> small = EdwardsPoint.ofSmallOrder();
    int refusedAlone = 0;
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
          assertTrue(agreed(library, key, signature, message));
          assertFalse(agreed(library, key, signature, bytes(20)));
          var alone = ((ProviderEd25519) library).toVerify(key);
          boolean good = alone.verify(signature, message);
          assertTrue(good || a > 0 || b > 0);
          refusedAlone += good ? 0 : 1;
        }
      }
    }
    assertTrue(refusedAlone > 0); // or Bouncy Castle would be asked for nothing
  }

  /** Keys and R of small order and in each of their encodings, and what is no point. */
  @ParameterizedTest
  @EnumSource(Library.class)
  void oddEncodings(Library which) throws GeneralSecurityException {
    Ed25519 library = which.get();
    List<byte[]> odd = new ArrayList<>();
    for (EdwardsPoint point : EdwardsPoint.ofSmallOrder()) {
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
    odd.add(usual);
    int takenAlone = 0;
    for (byte[] key : odd) {
      for (byte[] r : odd) {
        for (BigInteger s : new BigInteger[] {BigInteger.ZERO, BigInteger.ONE, secret}) {
          boolean unused = agreed(library, key, join(r, s), bytes(8));
        }
        // As good as the holder of the usual key can make it, if R is of small order.
        byte[] message = bytes(8);
        BigInteger k = EdwardsPoint.challenge(r, key, message);
        byte[] signature = join(r, k.multiply(secret).mod(EdwardsPoint.L));
        boolean good = agreed(library, key, signature, message);
        takenAlone += !good && alone(library, key, signature, message) ? 1 : 0;
      }
      for (int i = 0; i < 8; i++) { // k·A is neutral for every eighth message
        BigInteger nonce = scalar();
        byte[] r = EdwardsPoint.BASE.times(nonce).encoded();
        byte[] message = bytes(8);
        boolean good = agreed(library, key, join(r, nonce), message);
        takenAlone += !good && alone(library, key, join(r, nonce), message) ? 1 : 0;
      }
    }
    assertTrue(takenAlone > 0); // or no key need be left to Bouncy Castle
  }

  private static boolean alone(Ed25519 library, byte[] key, byte[] signature, byte[] message) {
    try {
      return ((ProviderEd25519) library).toVerify(key).verify(signature, message);
    } catch (GeneralSecurityException e) {
      return false;
    }
  }

  /** One key for many threads at once, each with messages of its own. */
  @ParameterizedTest
  @EnumSource(Library.class)
  void atOnce(Library which) throws Exception {
    Ed25519 library = which.get();
    byte[] seed = bytes(32);
    Ed25519.Signer signer = library.signer(seed);
    Ed25519.Checker checker = library.checker(SigningKey.ofSeed(seed).publicKey().bytes());
    var tasks = new ArrayList<Callable<Boolean>>();
    for (int thread = 0; thread < 8; thread++) {
      long own = thread;
      tasks.add(
          () -> {
            var messages = new Random(own);
            boolean right = true;
            for (int i = 0; i < 400 / which.share; i++) {
              byte[] message = new byte[100];
              messages.nextBytes(message);
              byte[] signature = EXPECTED.signer(seed).sign(message);
              right &= Arrays.equals(signature, signer.sign(message));
              right &= checker.isGood(signature, message);
              message[i % 100] ^= 1;
              right &= !checker.isGood(signature, message);
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
  void thePointsAreThoseOfTheCurve() throws IOException {
    List<EdwardsPoint> small = EdwardsPoint.ofSmallOrder();
    assertEquals(8, small.stream().distinct().count());
    assertEquals(EdwardsPoint.NEUTRAL, EdwardsPoint.BASE.times(EdwardsPoint.L));
    for (EdwardsPoint point : small) {
      assertEquals(EdwardsPoint.NEUTRAL, point.times(BigInteger.valueOf(8)));
    }
  }
}
