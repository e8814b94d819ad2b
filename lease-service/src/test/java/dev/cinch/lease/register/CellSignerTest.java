package dev.cinch.lease.register;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.net.Notary;
import dev.cinch.lease.table.LeaseBackend.UnansweredException;
import dev.cinch.lease.table.LeaseState;
import dev.cinch.lease.table.LeaseStateCodec;
import dev.cinch.lease.table.States;
import dev.cinch.lease.witness.CellKeys;
import dev.cinch.lease.witness.Cells;
import dev.cinch.lease.witness.NodeSigner;
import dev.cinch.lease.witness.TrustedKeys;
import dev.cinch.lease.witness.WitnessVerifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What nodes sign of leases that they accepted, and what becomes of it where it was asked for. */
final class CellSignerTest {
  private static final long INSTANCE = 7;
  private static final CellKeys KEYS = Cells.of(INSTANCE, 3);

  /** Ids of nodes need not be their places. */
  private static final List<Integer> IDS = List.of(4, 9, 2);

  private final CellSigner signer = new CellSigner(KEYS, IDS);

  private static LeaseNotary notary(int place) {
    return new LeaseNotary(INSTANCE, new NodeSigner(Cells.node(place)), LeaseNotary.Limit.NONE);
  }

  private static Bytes value(LeaseState lease) {
    return Bytes.of(LeaseStateCodec.encode(lease));
  }

  private static Bytes signed(int place, LeaseState lease) {
    LeaseNotary notary = notary(place);
    return notary
        .sign(
            List.of(
                notary
                    .statement(Bytes.of(lease.name().value()), value(lease), () -> {})
                    .orElseThrow()))
        .get(0);
  }

  private Notary.Witnessed collect(LeaseState lease) {
    return signer.collect(value(lease)).orElseThrow();
  }

  private boolean isSigned(Witness witness) throws Exception {
    List<SignedWitness> signed;
    try {
      signed = signer.sign(List.of(witness));
    } catch (UnansweredException e) {
      return false;
    }
    var verifier = new WitnessVerifier(TrustedKeys.of(KEYS.key()));
    assertEquals(witness, verifier.verify(signed.get(0).bytes()).witness());
    return true;
  }

  private void signed(CellSigner by, String name) {
    LeaseState lease = States.full(name);
    Notary.Witnessed collecting = by.collect(value(lease)).orElseThrow();
    assertFalse(collecting.take(9, signed(2, lease)));
    assertTrue(collecting.take(2, signed(3, lease)));
  }

  /** Those whose request failed are never taken. */
  @Test
  void whatNobodyTakesIsBoundedAndGoesInTime() {
    var small = new CellSigner(KEYS, IDS, 5_000);
    for (int i = 0; i < 100; i++) {
      signed(small, "n" + i);
    }
    assertTrue(small.size() > 0 && small.size() < 10, () -> "" + small.size());
    assertEquals(1, small.sign(List.of(States.full("n99").witness(INSTANCE))).size());
    for (int i = 0; i < 121; i++) {
      small.sweep();
    }
    assertEquals(0, small.size());
  }

  @Test
  void aMajorityThatSignedTheSameIsEnough() throws Exception {
    LeaseState lease = States.full("a");
    Notary.Witnessed collecting = collect(lease);
    assertFalse(collecting.take(9, signed(2, lease)));
    assertFalse(collecting.take(9, signed(2, lease)));
    assertFalse(isSigned(lease.witness(INSTANCE)));
    assertTrue(collecting.take(2, signed(3, lease)));
    assertTrue(isSigned(lease.witness(INSTANCE)));
    assertFalse(isSigned(lease.witness(INSTANCE)), "it is taken once");
  }

  @Test
  void oneThatIsWrittenTwiceIsTakenTwice() throws Exception {
    LeaseState lease = States.full("a");
    for (int i = 0; i < 2; i++) {
      Notary.Witnessed collecting = collect(lease);
      assertFalse(collecting.take(4, signed(1, lease)));
      assertTrue(collecting.take(2, signed(3, lease)));
    }
    assertTrue(isSigned(lease.witness(INSTANCE)));
    assertTrue(isSigned(lease.witness(INSTANCE)));
    assertFalse(isSigned(lease.witness(INSTANCE)));
  }

  @Test
  void aNodeThatSignedAnotherWitnessOrIsNoneOfTheCellDoesNotCount() {
    LeaseState lease = States.full("a");
    LeaseState other = States.full("b");
    Notary.Witnessed collecting = collect(lease);
    assertFalse(collecting.take(4, signed(1, lease)));
    assertFalse(collecting.take(9, signed(2, other)));
    assertFalse(collecting.take(5, signed(2, lease)));
    assertFalse(collecting.take(2, Bytes.EMPTY));
    assertFalse(collecting.take(2, Bytes.of("x")));
    byte[] cut = signed(3, lease).toArray();
    assertFalse(collecting.take(2, Bytes.of(Arrays.copyOf(cut, cut.length - 1))));
    assertTrue(collecting.take(2, signed(3, lease)));
  }

  /** Whoever keeps one name does not get a witness of another one signed by it. */
  @Test
  void f3_aNodeSignsALeaseUnderItsOwnNameAlone() {
    Bytes value = value(States.full("a"));
    assertTrue(notary(1).statement(Bytes.of("a"), value, () -> {}).isPresent());
    assertEquals(Optional.empty(), notary(1).statement(Bytes.of("b"), value, () -> {}));
  }

  @Test
  void l3_aNodeSignsWhatItsLimitAllowsAlone() {
    LeaseState lease = States.full("a");
    Witness witness = lease.witness(INSTANCE);
    var again = new ArrayList<String>();
    for (boolean allowed : new boolean[] {true, false}) {
      LeaseNotary.Limit limit =
          (issuedAt, expiry, later) -> {
            later.run();
            return allowed && issuedAt == witness.issuedAt() && expiry == witness.expiry();
          };
      var notary = new LeaseNotary(INSTANCE, new NodeSigner(Cells.node(1)), limit);
      Optional<byte[]> statement =
          notary.statement(Bytes.of("a"), value(lease), () -> again.add("again"));
      assertEquals(allowed, statement.isPresent());
    }
    assertEquals(2, again.size());
  }

  @Test
  void f3_aNodeSignsNoLeaseThatIsOver() {
    for (LeaseState lease : States.over("a")) {
      assertEquals(Optional.empty(), notary(1).statement(Bytes.of("a"), value(lease), () -> {}));
      assertTrue(signer.collect(value(lease)).isEmpty());
    }
    assertEquals(
        Optional.empty(), notary(1).statement(Bytes.of("a"), Bytes.of("no lease"), () -> {}));
    assertTrue(signer.collect(Bytes.EMPTY).isEmpty());
  }

  @Test
  void eachNodeHasOneKey() {
    assertThrows(IllegalArgumentException.class, () -> new CellSigner(KEYS, List.of(1, 2)));
    assertEquals(KEYS.key(), signer.publicKey());
  }
}
