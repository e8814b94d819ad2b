package dev.cinch.lease.witness;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Altered;
import dev.cinch.lease.Id;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.witness.WitnessException.Reason;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Witnesses of a cell: a majority of its nodes signs them, or they count nowhere (rule F3). */
final class CellWitnessTest {
  private static final Witness WITNESS = WitnessCodecTest.example();
  private static final CellKeys CELL = Cells.of(WITNESS.instance(), 3);
  private static final SigningKey OLD = SigningKey.ofSeed(new byte[32]);

  private final TrustedKeys keys = TrustedKeys.of(OLD.publicKey(), CELL.key());
  private final WitnessVerifier verifier = new WitnessVerifier(keys);

  private Reason refused(byte[] signed) {
    return refused(keys, signed);
  }

  private static Reason refused(TrustedKeys keys, byte[] signed) {
    var verifier = new WitnessVerifier(keys);
    var all =
        assertThrows(WitnessException.class, () -> verifier.verifyAll(List.of(signed, signed)));
    var one = assertThrows(WitnessException.class, () -> verifier.verify(signed));
    assertEquals(one.getMessage(), all.getMessage());
    assertTrue(String.valueOf(one.getMessage()).lines().count() == 1, one.getMessage());
    return one.reason();
  }

  @ParameterizedTest
  @CsvSource({"1,1", "2,2", "3,2", "4,3", "5,3", "6,4", "7,4"})
  void f3_aMajorityOfAnySizeIsTakenAndOneLessIsNot(int nodes, int majority) throws Exception {
    CellKeys cell = Cells.of(WITNESS.instance(), nodes);
    TrustedKeys trusted = TrustedKeys.of(cell.key());
    for (int count = 1; count <= nodes; count++) {
      int[] last = new int[count];
      Arrays.setAll(last, i -> nodes - last.length + 1 + i);
      byte[] signed = Cells.signed(cell, WITNESS, last).bytes();
      assertEquals(WITNESS, WitnessVerifier.decode(signed).witness());
      if (count < majority) {
        assertEquals(Reason.NO_MAJORITY, refused(trusted, signed));
      } else {
        assertEquals(WITNESS, new WitnessVerifier(trusted).verify(signed).witness());
      }
    }
  }

  @Test
  void f3_nodesThatSignTogetherAreTakenForEachWitness() throws Exception {
    for (int n : new int[] {2, 3, 16, 17, 40}) {
      List<Witness> all = SharedSignatureTest.witnesses(n);
      List<SignedWitness> signed = Cells.signed(CELL, all, 1, 3);
      assertEquals(signed, verifier.verifyAll(signed.stream().map(SignedWitness::bytes).toList()));
    }
  }

  @Test
  void f3_oneKeyAloneSignsNothingOfACellsInstance() throws Exception {
    SignedWitness forged = new WitnessSigner(OLD).sign(WITNESS);
    assertEquals(Reason.NO_MAJORITY, refused(forged.bytes()));
    // The same key signs for instances of its own.
    assertEquals(
        forged, new WitnessVerifier(TrustedKeys.of(OLD.publicKey())).verify(forged.bytes()));
    Witness other = withInstance(WITNESS.instance() + 1);
    assertEquals(other, verifier.verify(new WitnessSigner(OLD).sign(other).bytes()).witness());
  }

  /** One tree over witnesses of two instances: what is known of the root says nothing of them. */
  @Test
  void f3_aTreeThatIsGoodForAnotherInstanceIsNotForTheCells() throws Exception {
    List<SignedWitness> tree =
        new WitnessSigner(OLD).sign(List.of(withInstance(WITNESS.instance() + 1), WITNESS));
    assertEquals(tree.get(0), verifier.verify(tree.get(0).bytes()));
    var e =
        assertThrows(
            WitnessException.class,
            () -> verifier.verifyAll(tree.stream().map(SignedWitness::bytes).toList()));
    assertEquals(Reason.NO_MAJORITY, e.reason());
  }

  @Test
  void f3_aNodesKeyCountsForNothingByItself() {
    byte[] alone = new WitnessSigner(Cells.node(1)).sign(WITNESS).bytes();
    assertEquals(Reason.NO_MAJORITY, refused(alone));
    byte[] elsewhere = new WitnessSigner(Cells.node(1)).sign(withInstance(77)).bytes();
    assertEquals(Reason.UNKNOWN_KEY, refused(elsewhere));
    // Nor where a store trusts it by itself.
    TrustedKeys both = TrustedKeys.of(Cells.node(1).publicKey(), CELL.key());
    assertEquals(Reason.NO_MAJORITY, refused(both, alone));
  }

  @Test
  void f3_aNodeThatSignsTwiceCountsOnce() {
    SignedWitness two = Cells.signed(CELL, WITNESS, 1, 2);
    byte[] bytes = two.bytes();
    int first = SharedSignatureTest.payload(bytes) + 9;
    byte[] twice = bytes.clone();
    System.arraycopy(bytes, first, twice, first + 66, 66);
    assertEquals(Reason.MALFORMED, refused(twice));
    // Under the other's number it is not that one's signature.
    twice[first + 66] = 2;
    assertEquals(Reason.BAD_SIGNATURE, refused(twice));
    assertEquals(Optional.empty(), Cells.collected(CELL, WITNESS, 1, 1, 1));
    var same =
        assertThrows(
            IllegalArgumentException.class,
            () -> new CellKeys(1, List.of(OLD.publicKey(), OLD.publicKey())));
    assertTrue(String.valueOf(same.getMessage()).contains("same key"));
  }

  @Test
  void f3_aKeyThatIsNotTheCellsDoesNotCount() throws Exception {
    CellKeys others =
        new CellKeys(
            CELL.instance(),
            List.of(Cells.node(1).publicKey(), Cells.node(8).publicKey(), OLD.publicKey()));
    byte[] theirs = Cells.signed(others, WITNESS, 1, 8).bytes();
    assertEquals(Reason.UNKNOWN_KEY, refused(renumbered(theirs)));
    // Named as the cell's, it is node 2's number with another's signature.
    byte[] forged = renumbered(theirs);
    System.arraycopy(CELL.key().id(), 0, forged, SharedSignatureTest.payload(forged), 8);
    assertEquals(Reason.BAD_SIGNATURE, refused(forged));
    byte[] none = Cells.signed(CELL, WITNESS, 1, 4).bytes();
    assertEquals(Reason.BAD_SIGNATURE, refused(none));
  }

  private static byte[] renumbered(byte[] signed) {
    byte[] bytes = signed.clone();
    bytes[SharedSignatureTest.payload(bytes) + 9 + 66] = 2;
    return bytes;
  }

  @Test
  void f3_aBadSignatureAmongEnoughGoodOnesIsNoExcuse() {
    byte[] bytes = Cells.signed(CELL, WITNESS, 1, 2, 3).bytes();
    bytes[bytes.length - 1] ^= 1;
    assertEquals(Reason.BAD_SIGNATURE, refused(bytes));
  }

  @Test
  void f3_aCellSignsForItsOwnInstanceAlone() {
    CellKeys next = Cells.of(CELL.instance() + 1, 3);
    assertNotEquals(CELL.key(), next.key());
    byte[] signed = Cells.signed(CELL, withInstance(next.instance()), 1, 2, 3).bytes();
    assertEquals(Reason.BAD_SIGNATURE, refused(signed));
    assertEquals(Reason.BAD_SIGNATURE, refused(TrustedKeys.of(CELL.key(), next.key()), signed));
    assertEquals(Reason.UNKNOWN_KEY, refused(TrustedKeys.of(next.key()), signed));
    assertThrows(
        IllegalArgumentException.class,
        () -> new CellKeys.CellSignatures(CELL, withInstance(9_999)));
  }

  @Test
  void theKeyOfACellSignsNothing() {
    PublicKey key = CELL.key();
    byte[] signature = OLD.sign(new byte[1]);
    assertFalse(key.hasSigned(signature, new byte[1]));
    assertEquals(Optional.of(CELL), key.cell());
    assertEquals(new PublicKey(key.bytes()), key);
  }

  /** Whoever strips a key file of its nodes has no signature for what is left. */
  @Test
  void f3_aCellsKeyIsEndorsedAsACells() {
    var store = new Id(1, 2);
    PublicKey key = CELL.key();
    byte[] signature = KeyEndorsement.sign(OLD, store, 2, key);
    assertTrue(KeyEndorsement.isBy(OLD.publicKey(), store, 2, key, signature));
    PublicKey stripped = new PublicKey(key.bytes());
    assertFalse(KeyEndorsement.isBy(OLD.publicKey(), store, 2, stripped, signature));
  }

  @Test
  void collectingEndsWithAMajority() throws Exception {
    assertEquals(Optional.empty(), Cells.collected(CELL, WITNESS, 3));
    SignedWitness two = Cells.collected(CELL, WITNESS, 3, 1).orElseThrow();
    assertEquals(Cells.signed(CELL, WITNESS, 1, 3), two);
    assertEquals(two, verifier.verify(two.bytes()));
    var collecting = new CellKeys.CellSignatures(CELL, WITNESS);
    for (byte[] bad : List.of(new byte[0], new byte[64], new byte[66], new byte[200])) {
      assertEquals(Optional.empty(), collecting.add(1, bad));
      assertEquals(Optional.empty(), collecting.add(2, bad));
    }
    byte[] good = new NodeSigner(Cells.node(1)).sign(List.of(collecting.payload())).get(0);
    assertEquals(Optional.empty(), collecting.add(0, good));
    assertEquals(Optional.empty(), collecting.add(4, good));
    assertEquals(Optional.empty(), collecting.add(1, good));
  }

  @Test
  void whatIsCutOrLongerIsMalformed() {
    byte[] good = Cells.signed(CELL, SharedSignatureTest.witnesses(3), 1, 2).get(2).bytes();
    int payload = SharedSignatureTest.payload(good);
    var lengths = new ArrayList<Integer>();
    for (int length = payload + 1; length < good.length + 40; length++) {
      byte[] other = Arrays.copyOf(good, length);
      if (length != good.length) {
        lengths.add(length);
        Reason why = refused(other);
        // An even length behind the payload can be that of another form, by a key unknown there.
        boolean other3 = (length - payload) % 2 == 0 && why == Reason.NO_MAJORITY;
        assertTrue(why == Reason.MALFORMED || other3, length + ": " + why);
      }
    }
    assertFalse(lengths.isEmpty());
  }

  private static Witness withInstance(long instance) {
    Witness w = WITNESS;
    return Altered.with(w, "instance", instance);
  }
}
