package dev.cinch.lease.cell.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Message.Memory;
import dev.cinch.lease.cell.PaxosLease;
import dev.cinch.lease.cell.Step;
import dev.cinch.lease.cell.net.CellNode.Outcome;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Three nodes over loopback. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class CellNodeTest {
  private static final long SECOND = 1_000_000_000;
  private static final PaxosLease DURATIONS = new PaxosLease(3_600 * SECOND, 500, 3_600 * SECOND);
  private static final long TTL = 1_800 * SECOND;
  private static final long PATIENCE = 30 * SECOND;
  private static final Bytes NAME = Bytes.of("name");
  private static final Bytes VALUE = Bytes.of("value");
  private static final Function<Step.Found, Optional<Bytes>> PROPOSE = found -> Optional.of(VALUE);

  @TempDir private Path directory;
  private LoopbackCell cell;

  @BeforeEach
  void start() throws IOException {
    cell = new LoopbackCell(directory, DURATIONS, CellSettings.DEFAULT);
  }

  @AfterEach
  void stop() throws IOException {
    cell.close();
  }

  private Outcome acquire(int node) {
    return cell.node(node).acquire(NAME, TTL, PATIENCE, PROPOSE).join();
  }

  private static Step.Granted granted(Outcome outcome) {
    return assertInstanceOf(
        Step.Granted.class, assertInstanceOf(Outcome.Ended.class, outcome).step());
  }

  private static Step step(Outcome outcome) {
    return assertInstanceOf(Outcome.Ended.class, outcome).step();
  }

  /** What was given back just now may reach a node later than the next attempt. */
  private static void soonGranted(CellNode node) {
    Outcome outcome = node.acquire(NAME, TTL, PATIENCE, PROPOSE).join();
    for (int i = 0; i < 1_000 && step(outcome) instanceof Step.Held; i++) {
      outcome = node.acquire(NAME, TTL, PATIENCE, PROPOSE).join();
    }
    granted(outcome);
  }

  /** Questions for the status overtake attempts. */
  private static void awaitAttempts(CellNode node, int count) {
    while (node.status().join().attempts() != count) {
      Thread.onSpinWait();
    }
  }

  /** A node that ends right after it would else keep the name for as long as a change takes. */
  @Test
  void whatANodeGaveBackIsGivenBackBeforeItEnds() throws IOException {
    cell.endQuarantine();
    cell.cut(3); // so that no lease is known by all
    Step.Granted granted = granted(acquire(1));
    var unused = cell.node(1).release(NAME, granted.ballot(), TTL / 2);
    cell.node(1).close();
    cell.heal();
    soonGranted(cell.node(2));
  }

  @Test
  void oneNodeHoldsALeaseAndTheOthersAreTold() {
    cell.endQuarantine();
    Step.Granted granted = granted(acquire(1));
    assertTrue(granted.until() <= cell.node(1).now() + TTL);
    assertEquals(1, granted.ballot().node());
    Step.Held held = assertInstanceOf(Step.Held.class, step(acquire(2)));
    assertTrue(held.lease().ballot().sameOwner(granted.ballot()));
    assertEquals(VALUE, held.lease().value());
    assertEquals(Outcome.Refused.HELD_HERE, acquire(1));
    Memory told = cell.node(3).query(NAME, PATIENCE).join().orElseThrow();
    assertTrue(told.live());
    assertEquals(granted.ballot(), told.ballot());
  }

  @Test
  void aLeaseIsRenewedAndReleasedByAnyOfItsBallots() {
    cell.endQuarantine();
    CellNode one = cell.node(1);
    Ballot first = granted(acquire(1)).ballot();
    cell.forward(TTL / 2);
    Step.Granted renewed = granted(one.renew(NAME, first, TTL, PATIENCE, PROPOSE).join());
    Step.Granted again = granted(one.renew(NAME, renewed.ballot(), TTL, PATIENCE, PROPOSE).join());
    assertTrue(again.until() >= renewed.until());
    cell.forward(TTL * 3 / 4); // beyond the end of the first
    assertInstanceOf(Step.Held.class, step(acquire(2)));
    assertTrue(one.release(NAME, first, 0).join());
    assertFalse(one.release(NAME, first, 0).join());
    Outcome next = acquire(2);
    while (!next.isGranted()) { // until the release has arrived
      assertInstanceOf(Step.Held.class, step(next));
      next = acquire(2);
    }
    assertEquals(2, granted(next).ballot().node());
    assertEquals(
        Outcome.Refused.LOST, one.renew(NAME, again.ballot(), TTL, PATIENCE, PROPOSE).join());
  }

  /** Rule P9: a release of an earlier lease of the same node doesn't end a later one. */
  @Test
  void p9_aReleaseOfAnEarlierLeaseHasNoEffect() {
    cell.endQuarantine();
    CellNode one = cell.node(1);
    Ballot earlier = granted(acquire(1)).ballot();
    assertTrue(one.release(NAME, earlier, 0).join());
    Ballot later = granted(acquire(1)).ballot();
    assertFalse(one.release(NAME, earlier, 0).join());
    assertFalse(one.release(NAME, new Ballot(later.counter() + 1, later.boot(), 1), 0).join());
    assertInstanceOf(Step.Held.class, step(acquire(2)));
  }

  @Test
  void aLeaseEndsByItselfAndItsSuccessorFindsIt() {
    cell.endQuarantine();
    Ballot first = granted(acquire(1)).ballot();
    cell.forward(TTL * 2);
    List<Step.Found> finds = new ArrayList<>();
    Outcome outcome =
        cell.node(2)
            .acquire(
                NAME,
                TTL,
                PATIENCE,
                found -> {
                  finds.add(found);
                  return Optional.of(VALUE);
                })
            .join();
    granted(outcome);
    Step.Found found = finds.get(finds.size() - 1);
    assertEquals(first, found.lasts().get(0).ballot()); // of two acceptors, one accepted it
    assertEquals(VALUE, found.lasts().get(0).value());
    assertEquals(0, cell.node(1).status().join().names(), "a name that isn't held costs nothing");
  }

  /** Rule P5: nothing goes while the acceptors are silent, the node's own proposer included. */
  @Test
  void p5_nobodyGetsALeaseDuringTheQuarantine() {
    CellNode one = cell.node(1);
    assertTrue(one.status().join().isQuarantined());
    CompletableFuture<Outcome> attempt = one.acquire(NAME, TTL, PATIENCE, PROPOSE);
    awaitAttempts(one, 1);
    cell.forward(PATIENCE);
    assertInstanceOf(Step.Unavailable.class, step(attempt.join()));
    for (CellNode node : cell.nodes) {
      CellStatus status = node.status().join();
      assertEquals(0, status.rows());
    }
    cell.endQuarantine();
    assertFalse(one.status().join().isQuarantined());
    granted(acquire(1));
  }

  /** Rules P4 and P5, after a clean stop too. */
  @Test
  void p4_r5_eachStartIsCountedAndQuarantined() throws IOException {
    var clock = new TestClock();
    for (int boot = 1; boot <= 3; boot++) {
      try (CellNode node =
          CellNode.start(
              1,
              false,
              directory.resolve("alone"),
              new CellSettings.CellParts(
                  List.of(1, 2, 3),
                  new CellKey(new byte[CellKey.BYTES]),
                  DURATIONS,
                  CellSettings.DEFAULT,
                  new QueuedLink(),
                  clock,
                  clock,
                  RandomGenerator.getDefault()))) {
        CellStatus status = node.status().join();
        assertEquals(boot, status.boot());
        assertTrue(status.isQuarantined());
        clock.forward(DURATIONS.quarantine());
        assertFalse(node.status().join().isQuarantined());
      }
    }
  }

  @Test
  void callersThatContendGetOneLease() {
    cell.endQuarantine();
    for (int round = 0; round < 50; round++) {
      Bytes name = Bytes.of("contended-" + round);
      List<CompletableFuture<Outcome>> attempts = new ArrayList<>();
      for (CellNode node : cell.nodes) {
        attempts.add(node.acquire(name, TTL, PATIENCE, PROPOSE));
      }
      long granted = attempts.stream().filter(a -> a.join().isGranted()).count();
      assertEquals(1, granted, "round " + round);
    }
  }

  @Test
  void oneAttemptOfANodeForANameIsUnderWay() {
    CellNode one = cell.node(1);
    CompletableFuture<Outcome> first = one.acquire(NAME, TTL, PATIENCE, PROPOSE);
    assertEquals(Outcome.Refused.BUSY, acquire(1));
    cell.forward(PATIENCE);
    assertInstanceOf(Step.Unavailable.class, step(first.join()));
  }

  @Test
  void aCallerMayDeclineWhatWasFoundOrFail() {
    cell.endQuarantine();
    CellNode one = cell.node(1);
    assertEquals(
        Outcome.Refused.DECLINED, one.acquire(NAME, TTL, PATIENCE, f -> Optional.empty()).join());
    CompletableFuture<Outcome> tooLong =
        one.acquire(NAME, TTL, PATIENCE, f -> Optional.of(Bytes.of(new byte[1_400])));
    CompletionException e = assertThrows(CompletionException.class, tooLong::join);
    assertInstanceOf(IllegalArgumentException.class, e.getCause());
    int longest = CellSettings.DEFAULT.longestValue();
    granted(one.acquire(NAME, TTL, PATIENCE, f -> Optional.of(Bytes.of(new byte[longest]))).join());
    assertEquals(0, one.status().join().faults());
  }

  @Test
  void manyAttemptsShareDatagrams() {
    cell.endQuarantine();
    CellNode one = cell.node(1);
    int count = 10_000;
    List<CompletableFuture<Outcome>> attempts = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      attempts.add(one.acquire(Bytes.of("name-" + i), TTL, PATIENCE, PROPOSE));
    }
    attempts.forEach(a -> granted(a.join()));
    CellStatus status = one.status().join();
    assertEquals(count, status.names());
    assertEquals(0, status.attempts());
    assertTrue(status.traffic().datagramsSent() < status.traffic().messagesSent());
    assertTrue(status.peers().stream().allMatch(p -> p.heardAt() >= 0 && p.boot() == 1));
  }

  @Test
  void whatCanNotWaitIsRefusedAtOnceAndRenewalsAreNot() throws IOException {
    var settings = new CellSettings(1_400, SECOND, 1, 1, 2, 10, 1L << 30);
    try (var small = new LoopbackCell(directory.resolve("small"), DURATIONS, settings)) {
      small.endQuarantine();
      CellNode one = small.node(1);
      Ballot lease = granted(one.acquire(NAME, TTL, PATIENCE, PROPOSE).join()).ballot();
      small.node(2).close();
      small.node(3).close();
      List<CompletableFuture<Outcome>> attempts = new ArrayList<>();
      attempts.add(one.acquire(Bytes.of("0"), TTL, PATIENCE, PROPOSE));
      awaitAttempts(one, 1);
      for (int i = 1; i < 4; i++) {
        attempts.add(one.acquire(Bytes.of("" + i), TTL, PATIENCE, PROPOSE));
      }
      assertEquals(Outcome.Refused.OVERLOADED, attempts.get(3).join());
      CompletableFuture<Outcome> renewal = one.renew(NAME, lease, TTL, PATIENCE, PROPOSE);
      awaitAttempts(one, 2); // the renewal did not wait
      small.forward(PATIENCE);
      assertInstanceOf(Step.Unavailable.class, step(attempts.get(0).join()));
      // They have waited for more than half of their patience: what they began would come too late.
      assertEquals(Outcome.Refused.OVERLOADED, attempts.get(1).join());
      assertEquals(Outcome.Refused.OVERLOADED, attempts.get(2).join());
      assertInstanceOf(Step.Unavailable.class, step(renewal.join()));
      assertTrue(one.release(NAME, lease, 0).join(), "what was held stays held");
    }
  }

  @Test
  void aNodeThatClosesEndsWhatWaits() throws IOException {
    CellNode one = cell.node(1);
    CompletableFuture<Outcome> attempt = one.acquire(NAME, TTL, PATIENCE, PROPOSE);
    one.close();
    assertEquals(Outcome.Refused.CLOSED, attempt.join());
    assertEquals(Outcome.Refused.CLOSED, acquire(1));
    assertEquals(Optional.empty(), one.query(NAME, PATIENCE).join());
    assertThrows(CompletionException.class, () -> one.status().join());
  }

  @Test
  void whatIsOutOfRangeIsRefused() {
    CellNode one = cell.node(1);
    assertThrows(
        IllegalArgumentException.class, () -> one.acquire(Bytes.EMPTY, TTL, PATIENCE, PROPOSE));
    assertThrows(
        IllegalArgumentException.class,
        () -> one.acquire(NAME, DURATIONS.longest() + 1, PATIENCE, PROPOSE));
    assertThrows(IllegalArgumentException.class, () -> one.acquire(NAME, 0, PATIENCE, PROPOSE));
  }
}
