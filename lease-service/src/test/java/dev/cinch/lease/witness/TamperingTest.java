package dev.cinch.lease.witness;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.witness.Tampering.Edit;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Of what a single edit makes of a witness, whatever its form, nothing is believed. */
final class TamperingTest {
  private static final WitnessSigner ONE = new WitnessSigner(SigningKey.ofSeed(new byte[32]));

  private static List<SignedWitness> together(
      GrantSigner signer, String name, Witness like, int n) {
    return signer.sign(
        IntStream.range(0, n).mapToObj(i -> SharedSignatureTest.named(like, name + i)).toList());
  }

  /** Alone and as any leaf of trees of several depths, by one key and by a cell. */
  static Stream<Arguments> forms() {
    return Stream.of(ONE)
        .flatMap(
            signer ->
                Stream.of(1, 2, 5, 33).flatMap(n -> forms(signer, WitnessCodecTest.example(), n)));
  }

  private static Stream<Arguments> forms(GrantSigner signer, Witness like, int n) {
    return IntStream.of(0, n / 2, n - 1)
        .distinct()
        .mapToObj(leaf -> Arguments.of(signer, together(signer, "name-", like, n), leaf));
  }

  @ParameterizedTest
  @MethodSource("forms")
  void noEditIsBelieved(GrantSigner signer, List<SignedWitness> good, int leaf)
      throws WitnessException {
    var verifier = new WitnessVerifier(TrustedKeys.of(signer.publicKey()));
    SignedWitness one = good.get(leaf);
    var tried = new HashSet<ByteBuffer>(); // most edits take nothing of another's
    for (SignedWitness other :
        List.of(
            good.get(good.size() - 1 - leaf),
            together(signer, "other-", one.witness(), good.size() + 1).get(leaf),
            together(signer, "other-", one.witness(), 1).get(0))) {
      assertEquals(one, verifier.verify(one.bytes())); // its signature is remembered
      for (Edit edit : Tampering.of(one, other)) {
        byte[] bad = edit.witness().bytes();
        if (edit.witness().equals(one) || !tried.add(ByteBuffer.wrap(bad))) {
          continue; // the other one's end is this one's
        }
        assertThrows(WitnessException.class, () -> verifier.verify(bad), edit::what);
        var among = new ArrayList<>(good.stream().map(SignedWitness::bytes).toList());
        assertEquals(good, verifier.verifyAll(among));
        among.set(leaf, bad);
        assertThrows(WitnessException.class, () -> verifier.verifyAll(among), edit::what);
      }
    }
  }

  /** The edits are what they say: bytes that differ, and values that do. */
  @ParameterizedTest
  @MethodSource("forms")
  void eachEditIsOne(GrantSigner signer, List<SignedWitness> good, int leaf) {
    SignedWitness one = good.get(leaf);
    SignedWitness other = together(signer, "other-", one.witness(), good.size() + 1).get(leaf);
    for (Edit edit : Tampering.of(one, other)) {
      assertNotEquals(one, edit.witness(), edit::what);
    }
    for (Edit edit : Tampering.valuesOf(one)) {
      assertEquals(one, edit.witness(), edit::what);
      assertNotEquals(one.witness(), edit.witness().witness(), edit::what);
    }
  }
}
