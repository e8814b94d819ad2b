package dev.cinch.lease.witness;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.cinch.fuzz.Edits;
import dev.cinch.fuzz.Hostile;
import dev.cinch.lease.SignedWitness;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/** Signed witnesses from anywhere. */
final class WitnessFuzzTest {
  private static final SigningKey KEY = SigningKey.ofSeed(new byte[32]);
  private static final byte[] SIGNED =
      new WitnessSigner(KEY).sign(WitnessCodecTest.example()).bytes();

  private static final byte[] SHARED =
      new WitnessSigner(KEY)
          .sign(Collections.nCopies(3, WitnessCodecTest.example()))
          .get(1)
          .bytes();

  private static final List<byte[]> TOGETHER =
      new WitnessSigner(KEY)
          .sign(SharedSignatureTest.witnesses(5)).stream().map(SignedWitness::bytes).toList();

  /** There is one encoding of what a witness says. */
  @FuzzTest
  void decode(byte[] data) throws WitnessException {
    Optional<SignedWitness> found =
        Hostile.parse(data.length, () -> WitnessVerifier.decode(data), WitnessException.class);
    if (found.isPresent()) {
      byte[] payload = WitnessCodec.encode(found.get().witness());
      assertArrayEquals(Arrays.copyOf(data, payload.length), payload);
    }
  }

  /** Of all bytes that the fuzzer can find, only those that were signed are believed. */
  @FuzzTest
  void verify(byte[] data) {
    alter(SIGNED, data);
    alter(SHARED, data);
  }

  /** Nor where others of the same tree, which are good, were verified before it. */
  @FuzzTest
  void verifyTogether(byte[] data) {
    var edits = new Edits(data);
    int leaf = edits.choice(TOGETHER.size());
    byte[] signed = TOGETHER.get(leaf);
    byte[] altered = edits.of(signed);
    var all = new ArrayList<>(TOGETHER);
    all.set(leaf, altered);
    var verifier = new WitnessVerifier(TrustedKeys.of(KEY.publicKey()));
    boolean believed =
        Hostile.parse(altered.length, () -> verifier.verifyAll(all), WitnessException.class)
            .isPresent();
    assertEquals(TOGETHER.stream().anyMatch(one -> Arrays.equals(one, altered)), believed);
  }

  private static void alter(byte[] signed, byte[] data) {
    byte[] altered = new Edits(data).of(signed);
    var verifier = new WitnessVerifier(TrustedKeys.of(KEY.publicKey()));
    boolean believed =
        Hostile.parse(altered.length, () -> verifier.verify(altered), WitnessException.class)
            .isPresent();
    assertEquals(Arrays.equals(signed, altered), believed);
  }
}
