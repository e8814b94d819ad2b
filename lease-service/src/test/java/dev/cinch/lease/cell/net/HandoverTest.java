package dev.cinch.lease.cell.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.PaxosLease;
import dev.cinch.lease.cell.Step;
import dev.cinch.lease.cell.net.CellNode.Outcome;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;

/**
 * What a node that is told to end leaves to the others, at the same moment: time stands still here.
 */
final class HandoverTest {
  private static final long SECOND = 1_000_000_000;
  private static final List<Integer> IDS = List.of(1, 2, 3);
  private static final Bytes NAME = Bytes.of("name");
  private static final Bytes VALUE = Bytes.of("value");

  private final List<QueuedLink> links = new ArrayList<>();
  private final List<Request.Waiting> requests = new ArrayList<>();
  private final List<CellLoop> loops = new ArrayList<>();

  /** Later attempts have higher ballots, as they have where clocks show times. */
  private long ballots;

  /** Nodes that hear and say nothing. */
  private final Set<Integer> deaf = new HashSet<>();

  HandoverTest() {
    for (int id : IDS) {
      links.add(new QueuedLink());
      requests.add(new Request.Waiting(CellSettings.DEFAULT));
      loops.add(
          new CellLoop(
              id,
              1,
              true,
              new CellSettings.CellParts(
                  IDS,
                  new CellKey(new byte[CellKey.BYTES]),
                  new PaxosLease(60 * SECOND, 500, SECOND),
                  CellSettings.DEFAULT,
                  links.get(id - 1),
                  () -> SECOND,
                  () -> ++ballots,
                  RandomGenerator.of("L64X128MixRandom")),
              requests.get(id - 1)));
    }
  }

  /** Lets all talk until nobody has more to say. */
  private void talk() {
    boolean quiet = false;
    while (!quiet) {
      quiet = true;
      for (int id : IDS) {
        if (!deaf.contains(id)) {
          while (loops.get(id - 1).turn()) {
            quiet = false;
          }
          carry(id);
        }
      }
    }
  }

  private void carry(int from) {
    List<QueuedLink.Sent> sent = links.get(from - 1).sent;
    sent.forEach(
        datagram -> {
          if (!deaf.contains(datagram.to())) {
            links.get(datagram.to() - 1).come(datagram.bytes());
          }
        });
    sent.clear();
  }

  /** The node ends; what it says then arrives. */
  private void end(int id) {
    loops.get(id - 1).close();
    carry(id);
    deaf.add(id);
    talk();
  }

  private CompletableFuture<Outcome> acquire(int id) {
    var pursuit =
        new HeldNames.Pursuit(
            NAME, null, 30 * SECOND, 30 * SECOND, 15 * SECOND, found -> Optional.of(VALUE));
    assertTrue(requests.get(id - 1).add(pursuit));
    talk();
    return pursuit.result;
  }

  private static Ballot granted(CompletableFuture<Outcome> outcome) {
    assertTrue(outcome.isDone(), "it waits for somebody");
    var ended = assertInstanceOf(Outcome.Ended.class, outcome.join());
    return assertInstanceOf(Step.Granted.class, ended.step()).ballot();
  }

  private boolean release(int id, Ballot lease, long lingerNanos) {
    var release = new Request.Release(NAME, lease, lingerNanos, new CompletableFuture<>());
    assertTrue(requests.get(id - 1).add(release));
    talk();
    return release.result().join();
  }

  @Test
  void whatIsKeptForThoseThatAreLateIsFreeAtOnce() {
    deaf.add(3);
    Ballot lease = granted(acquire(1));
    assertTrue(release(1, lease, SECOND)); // until node 3 has it
    deaf.remove(3);
    end(1);
    granted(acquire(2));
  }

  /** Nobody sends it the value any more: it asks. */
  @Test
  void anAcceptorThatWasLateHearsWhatWasAgreedOnWithoutIt() {
    var heard = new ArrayList<Bytes>();
    loops.get(2).listen((name, value) -> heard.add(value));
    deaf.add(3);
    Ballot lease = granted(acquire(1));
    deaf.remove(3);
    assertTrue(release(1, lease, 0));
    assertEquals(List.of(VALUE), heard);
  }

  /** An acceptor has the value that was proposed, and the majority does not. */
  @Test
  void anAttemptThatIsUnderWayKeepsNobodyOut() {
    deaf.add(3);
    var pursuit =
        new HeldNames.Pursuit(
            NAME,
            null,
            30 * SECOND,
            30 * SECOND,
            15 * SECOND,
            found -> {
              deaf.add(1); // nobody's answers arrive any more
              return Optional.of(VALUE);
            });
    assertTrue(requests.get(0).add(pursuit));
    talk();
    deaf.remove(1);
    carry(1); // the proposal
    deaf.add(1);
    talk();
    assertEquals(1, loops.get(1).status(SECOND).rows(), "node 2 has accepted it");
    assertFalse(pursuit.result.isDone());
    deaf.remove(1);
    deaf.remove(3);
    end(1);
    assertEquals(Outcome.Refused.CLOSED, pursuit.result.join());
    granted(acquire(2));
  }

  /** As a caller does that waits for something else of the node. */
  @Test
  void whatACallerReleasesWhenItHearsOfTheEndIsFreeAtOnce() {
    Ballot lease = granted(acquire(1));
    var asked = new Questions.Inquiry(NAME, 1L << 60);
    deaf.addAll(List.of(1, 2, 3));
    var told = new CompletableFuture<Boolean>();
    asked.result.thenAccept(
        answer -> assertTrue(requests.get(0).add(new Request.Release(NAME, lease, SECOND, told))));
    assertTrue(requests.get(0).add(asked));
    talk();
    assertFalse(asked.result.isDone());
    deaf.clear();
    end(1);
    assertEquals(Optional.empty(), asked.result.join());
    assertTrue(told.join());
    granted(acquire(2));
  }

  /** Rule of a lease: its owner may act until it ends, whatever became of the node. */
  @Test
  void whatACallerHoldsIsHeldOn() {
    granted(acquire(1));
    end(1);
    var outcome = assertInstanceOf(Outcome.Ended.class, acquire(2).join());
    assertInstanceOf(Step.Held.class, outcome.step());
  }
}
