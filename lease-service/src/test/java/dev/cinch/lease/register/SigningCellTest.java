package dev.cinch.lease.register;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.LeaseName;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.PaxosLease;
import dev.cinch.lease.cell.Step;
import dev.cinch.lease.cell.net.CellNode;
import dev.cinch.lease.cell.net.CellNode.Outcome;
import dev.cinch.lease.cell.net.CellSettings;
import dev.cinch.lease.cell.net.LoopbackCell;
import dev.cinch.lease.table.LeaseBackend.UnansweredException;
import dev.cinch.lease.table.LeaseState;
import dev.cinch.lease.table.LeaseStateCodec;
import dev.cinch.lease.table.States;
import dev.cinch.lease.witness.CellKeys;
import dev.cinch.lease.witness.Cells;
import dev.cinch.lease.witness.NodeSigner;
import dev.cinch.lease.witness.TrustedKeys;
import dev.cinch.lease.witness.WitnessVerifier;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Three nodes over loopback sign what is written at one of them. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class SigningCellTest {
  private static final long SECOND = 1_000_000_000;
  private static final long INSTANCE = 7;
  private static final List<Integer> IDS = List.of(1, 2, 3);
  private static final CellKeys KEYS = Cells.of(INSTANCE, 3);
  private static final LeaseName A = new LeaseName("a");

  @TempDir private Path directory;
  private LoopbackCell cell;
  private final CellSigner signer = new CellSigner(KEYS, IDS);
  private StateRegister register;

  @BeforeEach
  void start() throws IOException {
    var durations = new PaxosLease(60 * SECOND, 500, 3_600 * SECOND);
    cell = new LoopbackCell(directory, durations, true, CellSettings.DEFAULT);
    register = new CellRegister(cell.node(1), RandomGenerator.of("L64X128MixRandom"), signer);
  }

  @AfterEach
  void stop() throws IOException {
    cell.close();
  }

  private static LeaseNotary notary(int id, long instance) {
    return new LeaseNotary(instance, new NodeSigner(Cells.node(id)), LeaseNotary.Limit.NONE);
  }

  private void sign(int... ids) {
    for (int id : ids) {
      cell.node(id).notary(notary(id, INSTANCE));
    }
  }

  private CompletableFuture<Boolean> write(LeaseState lease) {
    return register.change(lease.name(), found -> Optional.of(LeaseStateCodec.encode(lease)));
  }

  private List<SignedWitness> taken(LeaseState lease) throws Exception {
    List<SignedWitness> signed = signer.sign(List.of(lease.witness(INSTANCE)));
    Witness unused =
        new WitnessVerifier(TrustedKeys.of(KEYS.key())).verify(signed.get(0).bytes()).witness();
    return signed;
  }

  private void awaitWritten() {
    while (register.look(A).join().value().isEmpty()
        || cell.node(1).status().join().attempts() > 0) {
      Thread.onSpinWait();
    }
    var unused = cell.node(1).status().join(); // begun after it, nodes are asked by then
  }

  /** Lets the turn of a change pass, after which nobody waits any more. */
  private void unanswered(CompletableFuture<Boolean> change) {
    awaitWritten();
    var e = assertThrows(ExecutionException.class, () -> passing(change));
    UnansweredException why = assertInstanceOf(UnansweredException.class, e.getCause());
    assertEquals("a: too few nodes of the cell sign it", why.getMessage());
  }

  /**
   * Lets time pass until there is an answer, no faster than any clock: what is held must not expire
   * while a thread of a node waits for its turn on the machine.
   */
  private <T> T passing(CompletableFuture<T> answer) throws Exception {
    while (true) {
      try {
        return answer.get(1, TimeUnit.MILLISECONDS);
      } catch (TimeoutException e) {
        cell.forward(SECOND / 1_000);
      }
    }
  }

  @Test
  void whatIsWrittenIsSignedByAMajority() throws Exception {
    sign(1, 2, 3);
    LeaseState lease = States.full("a");
    assertTrue(write(lease).join());
    assertEquals(lease.witness(INSTANCE), taken(lease).get(0).witness());
  }

  @Test
  void twoOfThreeAreEnoughAndTheNodeThatAsksNeedNotBeOne() throws Exception {
    sign(2, 3);
    assertTrue(write(States.full("a")).join());
    assertEquals(1, taken(States.full("a")).size());
  }

  @Test
  void f3_whatTooFewSignIsNotAnsweredAndFoundWhenItIsAskedForAgain() throws Exception {
    sign(1);
    unanswered(write(States.full("a")));
    assertThrows(UnansweredException.class, () -> taken(States.full("a")));
    // It was written all the same, so that whoever asks again finds it; and nobody is kept out.
    StateRegister.Found found = register.look(A).join();
    assertEquals(
        States.full("a").witness(INSTANCE),
        LeaseStateCodec.decode(found.value().orElseThrow()).witness(INSTANCE));
    sign(2);
    assertTrue(write(States.full("a")).join());
    assertEquals(1, taken(States.full("a")).size());
  }

  /** Nodes that would encode another witness, as another version may, are none of the majority. */
  @Test
  void f3_nodesThatSignSomethingElseDoNotCount() {
    sign(1);
    cell.node(2).notary(notary(2, INSTANCE + 1));
    cell.node(3).notary(notary(3, INSTANCE + 1));
    unanswered(write(States.full("a")));
  }

  /** Else another ballot could follow, after which acceptors sign this one no more. */
  @Test
  void whileNodesSignNobodyElseChangesTheName() throws Exception {
    cell.stopClock();
    sign(1);
    CompletableFuture<Boolean> pending = write(States.full("a"));
    awaitWritten();
    Bytes name = Bytes.of("a");
    Outcome outcome =
        passing(cell.node(2).acquire(name, SECOND, SECOND, found -> Optional.of(name)));
    assertInstanceOf(Step.Held.class, assertInstanceOf(Outcome.Ended.class, outcome).step());
    sign(2, 3); // and are asked again: one may have been late to accept it
    assertTrue(passing(pending));
  }

  @Test
  void whatNeedsNoWitnessWaitsForNoSignature() throws Exception {
    for (LeaseState over : States.over("a")) {
      assertTrue(write(over).join());
    }
  }

  /** A value that was replaced is signed by nobody, also if its ballot is asked for. */
  @Test
  void f3_anAcceptorDoesNotSignWhatItDidNotAccept() throws Exception {
    sign(1, 2, 3);
    assertTrue(write(States.full("a")).join());
    CellNode one = cell.node(1);
    var name = Bytes.of("a");
    var ballot = one.query(name, SECOND).join().orElseThrow().ballot();
    assertTrue(one.sign(name, ballot, SECOND, (node, signature) -> true).join());
    assertTrue(write(States.full("a", "other")).join());
    var late = one.sign(name, ballot, SECOND, (node, signature) -> true);
    assertEquals(false, passing(late));
  }
}
