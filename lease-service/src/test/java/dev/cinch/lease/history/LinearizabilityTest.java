package dev.cinch.lease.history;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Id;
import dev.cinch.lease.history.LeaseModel.Answer;
import dev.cinch.lease.history.LeaseModel.Call;
import dev.cinch.lease.history.LeaseModel.Kind;
import dev.cinch.lease.history.LeaseModel.Signed;
import dev.cinch.lease.history.Linearizability.Timed;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Histories that the checker has to refuse, each beside one that it has to let pass. */
final class LinearizabilityTest {
  private static final Id A = new Id(0, 1);
  private static final Id B = new Id(0, 2);

  private final List<Timed<Call>> history = new ArrayList<>();

  private LinearizabilityTest add(
      long from, long to, Kind kind, Id id, Answer answer, @Nullable Signed signed) {
    history.add(new Timed<>(new Call(kind, id, answer, signed, 0), from, to));
    return this;
  }

  private LinearizabilityTest acquired(long from, long to, Id id, long issuedAt, long expiry) {
    var signed = new Signed(id, 1, issuedAt, expiry);
    return add(from, to, Kind.ACQUIRE, id, Answer.GRANTED, signed);
  }

  private LinearizabilityTest renewed(long from, long to, Id id, long instance, long expiry) {
    return add(from, to, Kind.RENEW, id, Answer.GRANTED, new Signed(id, instance, 0, expiry));
  }

  private LinearizabilityTest released(long from, long to, Id id) {
    return add(from, to, Kind.RELEASE, id, Answer.RELEASED, null);
  }

  private LinearizabilityTest held(long from, long to, Id id) {
    return add(from, to, Kind.ACQUIRE, id, Answer.HELD, null);
  }

  private LinearizabilityTest unknown(long from, Kind kind, Id id) {
    return add(from, Linearizability.NEVER, kind, id, Answer.UNKNOWN, null);
  }

  private void passes() {
    assertTrue(Linearizability.holds(LeaseModel.Name.FREE, history, new LeaseModel()));
  }

  private void isRefused() {
    assertFalse(Linearizability.holds(LeaseModel.Name.FREE, history, new LeaseModel()));
  }

  @Test
  void twoHoldersAtOnce() {
    acquired(1, 2, A, 0, 10).acquired(3, 4, B, 9, 19).isRefused();
    history.clear();
    acquired(1, 2, A, 0, 10).acquired(3, 4, B, 10, 20).passes();
  }

  @Test
  void twoHoldersAtOnceAlsoWhereTheyAskedTogether() {
    acquired(1, 4, A, 0, 10).acquired(2, 3, B, 0, 10).isRefused();
  }

  @Test
  void overlappingCallsMayCountInEitherOrder() {
    acquired(1, 2, A, 0, 10).released(3, 6, A).acquired(4, 5, B, 1, 11).passes();
    history.clear();
    acquired(1, 2, A, 0, 10).acquired(3, 4, B, 1, 11).released(5, 6, A).isRefused();
  }

  @Test
  void aReleaseUndone() {
    acquired(1, 2, A, 0, 10).released(3, 4, A).held(5, 6, B).isRefused();
    history.clear();
    acquired(1, 2, A, 0, 10).released(3, 4, A).renewed(5, 6, A, 1, 20).isRefused();
    history.clear();
    acquired(1, 2, A, 0, 10).held(3, 4, B).released(5, 6, A).released(7, 8, A).passes();
  }

  @Test
  void aGrantThatGoesBack() {
    acquired(1, 2, A, 0, 10).renewed(3, 4, A, 1, 9).isRefused();
    history.clear();
    acquired(1, 2, A, 0, 10).renewed(3, 4, A, 2, 9).renewed(5, 6, A, 1, 20).isRefused();
    history.clear();
    acquired(1, 2, A, 0, 10).renewed(3, 4, A, 2, 9).renewed(5, 6, A, 2, 20).passes();
  }

  @Test
  void aLeaseLostBeforeItsTime() {
    acquired(1, 2, A, 0, 10).add(3, 4, Kind.RENEW, A, Answer.NOT_HELD, null).isRefused();
    history.clear();
    acquired(1, 2, A, -9, 0).add(3, 4, Kind.RENEW, A, Answer.NOT_HELD, null).passes();
  }

  @Test
  void whatWasNotAnsweredMayCountLaterOrNeverButOnce() {
    unknown(1, Kind.ACQUIRE, A).held(2, 3, B).acquired(4, 5, B, 0, 10).passes();
    history.clear();
    unknown(1, Kind.ACQUIRE, A).released(2, 3, A).held(4, 5, B).isRefused();
    history.clear();
    acquired(1, 2, A, 0, 10).unknown(3, Kind.RELEASE, A).held(4, 5, B).acquired(6, 7, B, 1, 11);
    passes();
    history.clear();
    held(1, 2, B).unknown(3, Kind.ACQUIRE, A).isRefused(); // it had not been asked for yet
  }

  /** On a slow machine many calls are cut off, and each of them may count at any time. */
  @Test
  void manyUnansweredCallsAreSoonTried() {
    for (int i = 0; i < 40; i++) {
      unknown(i, Kind.ACQUIRE, new Id(1, i)).unknown(100 + i, Kind.RELEASE, new Id(1, i));
    }
    acquired(200, 201, A, 0, 10).held(202, 203, B).released(204, 205, A);
    acquired(206, 207, B, 1, 11).renewed(208, 209, B, 1, 12).passes();
    renewed(210, 211, B, 1, 11).isRefused();
  }
}
