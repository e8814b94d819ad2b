package dev.cinch.lease.cell.net;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.cell.Acceptor;
import dev.cinch.lease.cell.Algorithm;
import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Message;
import dev.cinch.lease.cell.PaxosLease;
import dev.cinch.lease.cell.net.Signing.Gathering;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** A node signs what its acceptor accepted, and asks until enough others have. */
final class SigningTest {
  private static final long SECOND = 1_000_000_000;
  private static final Algorithm ALGORITHM = new PaxosLease(60 * SECOND, 500, 3_600 * SECOND);
  private static final Bytes NAME = Bytes.of("name");
  private static final Bytes VALUE = Bytes.of("value");
  private static final Bytes NOTHING = Bytes.of("nothing to sign");

  /** Signs by a letter before what is signed. */
  static final class Letter implements Notary {
    final List<Integer> together = new ArrayList<>();

    /** What waits until it may be signed; null if all may be. */
    @Nullable List<Runnable> waiting;

    @Override
    public Optional<byte[]> statement(Bytes name, Bytes value, Runnable again) {
      if (waiting != null) {
        waiting.add(again);
        return Optional.empty();
      }
      return value.equals(NOTHING)
          ? Optional.empty()
          : Optional.of((name + ": " + value).getBytes());
    }

    @Override
    public List<Bytes> sign(List<byte[]> statements) {
      together.add(statements.size());
      return statements.stream().map(s -> Bytes.of("signed " + new String(s))).toList();
    }
  }

  private record Sent(int to, Message message) {}

  private final List<Sent> sent = new ArrayList<>();
  private final List<Request.Again> again = new ArrayList<>();
  private final List<Integer> took = new ArrayList<>();
  private final Timers timers = new Timers();
  private final Letter letter = new Letter();
  private Acceptor acceptor = ALGORITHM.acceptor(1, 0, true);
  private Signing signing = signing();

  private Signing signing() {
    var made =
        new Signing(
            acceptor,
            (to, message) -> sent.add(new Sent(to, message)),
            timers,
            List.of(1, 2, 3),
            CellSettings.DEFAULT,
            again::add);
    made.notary(letter);
    return made;
  }

  private static Ballot ballot(int counter) {
    return new Ballot(counter, 1, 2);
  }

  /** Has the acceptor accept a value. */
  private void accept(int counter, Bytes value, long now) {
    var replies = new ArrayList<Message>();
    acceptor.receive(2, new Message.Prepare(NAME, ballot(counter)), now, (to, m) -> replies.add(m));
    long pledge = ((Message.Promise) replies.get(0)).pledge();
    acceptor.receive(
        2,
        new Message.Accept(NAME, ballot(counter), pledge, SECOND, value),
        now,
        (to, m) -> replies.add(m));
    assertEquals(new Message.Accepted(NAME, ballot(counter)), replies.get(1));
  }

  private List<Sent> asked(Bytes name, Ballot ballot, long now) {
    sent.clear();
    signing.asked(2, new Message.Sign(name, ballot), now);
    assertEquals(sent, List.of());
    int count = signing.flush();
    assertEquals(sent.size(), count);
    return List.copyOf(sent);
  }

  private static Sent signed(int counter, Bytes value) {
    Bytes signature = Bytes.of("signed " + NAME + ": " + value);
    return new Sent(2, new Message.Signed(NAME, ballot(counter), signature));
  }

  @Test
  void p1_whatWasAcceptedWithThisBallotIsSignedAndNothingElse() {
    assertEquals(List.of(), asked(NAME, ballot(1), 0));
    accept(1, VALUE, 0);
    assertEquals(List.of(signed(1, VALUE)), asked(NAME, ballot(1), 0));
    assertEquals(List.of(signed(1, VALUE)), asked(NAME, ballot(1), 0)); // it may have been lost
    assertEquals(List.of(), asked(NAME, ballot(2), 0));
    assertEquals(List.of(), asked(NAME, new Ballot(1, 1, 3), 0));
    assertEquals(List.of(), asked(NAME, new Ballot(1, 2, 2), 0));
    assertEquals(List.of(), asked(NAME, Ballot.NONE, 0));
    assertEquals(List.of(), asked(Bytes.of("other"), ballot(1), 0));
  }

  @Test
  void whatIsOnlyPromisedIsNotSigned() {
    acceptor.receive(2, new Message.Prepare(NAME, ballot(1)), 0, (to, m) -> {});
    assertEquals(List.of(), asked(NAME, ballot(1), 0));
    assertEquals(List.of(), asked(NAME, Ballot.NONE, 0));
  }

  @Test
  void whatWasReplacedIsNotSignedAnyMore() {
    accept(1, VALUE, 0);
    accept(2, Bytes.of("later"), 1);
    assertEquals(List.of(), asked(NAME, ballot(1), 2));
    assertEquals(List.of(signed(2, Bytes.of("later"))), asked(NAME, ballot(2), 2));
  }

  @Test
  void p5_aQuarantinedNodeSignsNothing() {
    acceptor = ALGORITHM.acceptor(1, 0, false);
    signing = signing();
    long end = acceptor.quarantinedUntil();
    accept(1, VALUE, end);
    assertEquals(List.of(), asked(NAME, ballot(1), end - 1));
    assertEquals(1, asked(NAME, ballot(1), end).size());
  }

  @Test
  void aValueThatSaysNothingAndAStatementTooLongForADatagramAreNotSigned() {
    accept(1, NOTHING, 0);
    assertEquals(List.of(), asked(NAME, ballot(1), 0));
    accept(2, Bytes.of("v".repeat(CellSettings.DEFAULT.longestValue())), 0);
    signing.asked(2, new Message.Sign(NAME, ballot(2)), 0);
    assertEquals(1, signing.flush());
    assertEquals(List.of(), sent);
  }

  @Test
  void withoutANotaryNothingIsSigned() {
    accept(1, VALUE, 0);
    signing =
        new Signing(
            acceptor,
            (to, m) -> sent.add(new Sent(to, m)),
            timers,
            List.of(1),
            CellSettings.DEFAULT,
            again::add);
    assertEquals(List.of(), asked(NAME, ballot(1), 0));
  }

  @Test
  void l3_whatMayNotBeSignedYetIsAskedForAgain() {
    accept(1, VALUE, 0);
    letter.waiting = new ArrayList<>();
    assertEquals(List.of(), asked(NAME, ballot(1), 0));
    assertEquals(List.of(), again);
    letter.waiting.get(0).run();
    letter.waiting = null;
    Request.Again asked = again.get(0);
    assertEquals(2, asked.from());
    signing.asked(asked.from(), asked.sign(), 0);
    assertEquals(1, signing.flush());
    assertEquals(1, sent.size());
  }

  @Test
  void whatComesInOneTurnIsSignedTogether() {
    accept(1, VALUE, 0);
    for (int i = 0; i < 5; i++) {
      signing.asked(2, new Message.Sign(NAME, ballot(1)), 0);
    }
    assertEquals(5, signing.flush());
    assertEquals(0, signing.flush());
    assertEquals(List.of(5), letter.together);
  }

  private Gathering gathering(int enough) {
    took.clear();
    var gathering =
        new Gathering(
            NAME,
            ballot(1),
            SECOND,
            (node, signature) -> {
              took.add(node);
              return took.size() >= enough;
            });
    sent.clear();
    signing.begin(gathering, List.of(1, 3), 0);
    return gathering;
  }

  private void answered(int node) {
    signing.answered(node, new Message.Signed(NAME, ballot(1), VALUE));
  }

  private List<Integer> askedNodes() {
    List<Integer> to = sent.stream().map(Sent::to).toList();
    sent.forEach(s -> assertEquals(new Message.Sign(NAME, ballot(1)), s.message()));
    sent.clear();
    return to;
  }

  @Test
  void thoseThatHaveItAreAskedAndEnoughAnswersEndIt() {
    Gathering gathering = gathering(2);
    assertEquals(List.of(1, 3), askedNodes());
    answered(3);
    answered(3); // doubled by the network
    assertFalse(gathering.result.isDone());
    assertEquals(List.of(3), took);
    answered(1);
    assertTrue(gathering.result.join());
    answered(2);
    assertEquals(List.of(3, 1), took);
    assertEquals(Long.MAX_VALUE, timers.next());
  }

  @Test
  void soonAllAreAskedAndAgainUntilPatienceEnds() {
    Gathering gathering = gathering(2);
    assertEquals(List.of(1, 3), askedNodes());
    long resend = CellSettings.DEFAULT.resendNanos();
    assertEquals(resend / 10, timers.next());
    signing.wake(gathering, resend / 10);
    assertEquals(List.of(1, 2, 3), askedNodes());
    answered(2);
    assertEquals(resend / 10 + resend, timers.next());
    signing.wake(gathering, resend / 10 + resend);
    assertEquals(List.of(1, 3), askedNodes());
    signing.wake(gathering, SECOND - 1);
    assertEquals(SECOND, timers.next());
    askedNodes();
    signing.wake(gathering, SECOND);
    assertFalse(gathering.result.join());
    assertEquals(List.of(), askedNodes());
    answered(1);
    assertEquals(List.of(2), took);
  }

  @Test
  void anAnswerOfAnotherNameOrBallotIsIgnored() {
    Gathering gathering = gathering(1);
    signing.answered(1, new Message.Signed(Bytes.of("other"), ballot(1), VALUE));
    signing.answered(1, new Message.Signed(NAME, ballot(2), VALUE));
    assertEquals(List.of(), took);
    assertFalse(gathering.result.isDone());
    signing.close();
    assertFalse(gathering.result.join());
  }
}
