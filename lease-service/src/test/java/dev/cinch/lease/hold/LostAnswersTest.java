package dev.cinch.lease.hold;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.instance.Rig;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Whoever asks again after a lost answer must not wait for itself. */
final class LostAnswersTest {
  private enum Loss {
    NONE,
    REQUEST,
    ANSWER,
    FAULT
  }

  private final Rig rig = new Rig();
  private final List<Id> released = new ArrayList<>();
  private Loss loss = Loss.NONE;

  private final LostAnswers asks =
      new LostAnswers(
          new ForwardingLeases(rig.service) {
            @Override
            public Outcome carryOut(Operation operation) throws LeaseUnavailableException {
              boolean acquires = operation instanceof Operation.Acquire;
              if (loss == Loss.REQUEST || (loss != Loss.NONE && !acquires)) {
                throw new LeaseUnavailableException("lost", null);
              }
              if (operation instanceof Operation.Release release) {
                released.add(release.id());
              }
              Outcome outcome = super.carryOut(operation);
              if (loss == Loss.ANSWER) {
                throw new LeaseUnavailableException("lost", null);
              } else if (loss == Loss.FAULT) {
                throw new IllegalStateException("made by a test");
              }
              return outcome;
            }
          });

  @Test
  void whatWasGrantedUnheardIsGivenBackBeforeItIsAskedForAgain() throws Exception {
    loss = Loss.ANSWER;
    Operation.Acquire first = rig.request("a");
    for (Operation.Acquire request : List.of(first, rig.request("a"), rig.request("a"))) {
      assertThrows(LeaseUnavailableException.class, () -> asks.acquire(request));
    }
    loss = Loss.NONE;
    Grant grant = asks.acquire(rig.request("a"));
    assertEquals(Ending.RELEASED, grant.witnesses().get(0).witness().previousEnding());
    assertEquals(List.of(first.id()), released);
  }

  @Test
  void whatWasNotGrantedNeedsNothing() throws Exception {
    loss = Loss.REQUEST;
    Operation.Acquire first = rig.request("a");
    assertThrows(LeaseUnavailableException.class, () -> asks.acquire(first));
    loss = Loss.NONE;
    Grant grant = asks.acquire(rig.request("a"));
    assertEquals(Ending.NONE, grant.witnesses().get(0).witness().previousEnding());
    Grant other = asks.acquire(rig.request("b"));
    assertEquals(List.of(first.id()), released);
    assertEquals(1, other.witnesses().size());
  }

  @Test
  void anAnswerThatAFaultKeptFromUsIsALostOne() throws Exception {
    loss = Loss.FAULT;
    assertThrows(IllegalStateException.class, () -> asks.acquire(rig.request("a")));
    loss = Loss.NONE;
    assertEquals(1, asks.acquire(rig.request("a")).witnesses().size());
  }

  @Test
  void aRequestThatComesAfterItWasGivenBackIsInNobodysWay() throws Exception {
    loss = Loss.REQUEST;
    Operation.Acquire late = rig.request("a");
    assertThrows(LeaseUnavailableException.class, () -> asks.acquire(late));
    loss = Loss.NONE;
    assertEquals(1, asks.acquire(rig.request("b")).witnesses().size());
    assertThrows(LeaseRefusedException.class, () -> rig.service.acquire(late));
    Grant grant = asks.acquire(rig.request("a"));
    assertEquals(Ending.NONE, grant.witnesses().get(0).witness().previousEnding());
  }

  /** By its id the service knows the place of one that waited. */
  @Test
  void whatIsAskedForAgainSinceItWasHeldIsTheSameRequest() throws Exception {
    Grant held = rig.acquire("a");
    Operation.Acquire first = rig.request("a");
    assertThrows(LeaseRefusedException.class, () -> asks.acquire(first));
    rig.service.release(held.id(), LeaseReport.NOTHING);
    Grant granted = asks.acquire(rig.request("a"));
    assertEquals(first.id(), granted.id());
    assertThrows(LeaseRefusedException.class, () -> asks.acquire(rig.request("a")));
    Operation.Acquire other = rig.request("b");
    assertEquals(other.id(), asks.acquire(other).id()); // another request
    Operation.Acquire after = rig.request("c");
    assertEquals(after.id(), asks.acquire(after).id());
  }
}
