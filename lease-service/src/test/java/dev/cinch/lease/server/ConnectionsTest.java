package dev.cinch.lease.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.server.Connections.Limits;
import dev.cinch.lease.server.Connections.Place;
import dev.cinch.lease.server.Connections.Rank;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Four places, three of which one peer may have; a second for a request, five between them. */
final class ConnectionsTest {
  private static final Limits LIMITS = new Limits(4, 3, 1_000, 5_000, 2_000, 100);

  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 5); // it may overflow
  private final Connections four = new Connections(LIMITS, nanos::get);
  private final List<String> gone = new ArrayList<>();
  private final Map<String, Long> received = new HashMap<>();

  private Place enter(String peer, String name) {
    return four.enter(
        peer,
        new Connections.Line() {
          @Override
          public long received() {
            return received.getOrDefault(name, 0L);
          }

          @Override
          public void close() {
            gone.add(name);
          }
        });
  }

  /** A request and its answer. */
  private static void serve(Place place, Rank shown) {
    place.arrives(() -> {});
    place.works();
    assertFalse(place.answers(shown, 0));
    place.answered();
  }

  private void pass(long ms) {
    nanos.addAndGet(ms * 1_000_000);
    four.sweep();
  }

  @Test
  void theOldestStrangerGoesFirstThenWhoAskedSomethingThenHolders() {
    Place holder = enter("a", "holder");
    Place asked = enter("a", "asked");
    Place first = enter("b", "first");
    Place second = enter("b", "second");
    serve(holder, Rank.HOLDER);
    serve(asked, Rank.SERVED);
    List<Place> served = new ArrayList<>();
    for (String name : List.of("3", "4", "5", "6")) {
      Place place = enter(name, name);
      place.works();
      served.add(place);
    }
    assertEquals(List.of("first", "second", "asked", "holder"), gone);
    first.leave();
    second.leave();
    Place refused = enter("c", "c");
    assertEquals("c", gone.get(4));
    refused.leave();
    assertFalse(served.get(2).answers(Rank.NEW, 0));
    Place last = enter("c", "7");
    assertEquals("5", gone.get(5));
    assertEquals(4, four.count());
    last.leave();
    assertEquals(3, four.count());
  }

  @Test
  void aRankIsNeverLost() {
    Place holder = enter("a", "holder");
    serve(holder, Rank.HOLDER);
    serve(holder, Rank.NEW); // a refusal
    for (int i = 0; i < 100; i++) {
      Place unused = enter("" + i, "stranger");
    }
    assertEquals(97, gone.size());
    assertFalse(gone.contains("holder"));
  }

  @Test
  void aPeerWithTooManyLosesItsOwnAndNobodyElses() {
    Place other = enter("b", "other");
    for (int i = 0; i < 10; i++) {
      Place unused = enter("a", "a" + i);
    }
    assertEquals(List.of("a0", "a1", "a2", "a3", "a4", "a5", "a6"), gone);
    assertEquals(4, four.count());
    other.leave();
    assertEquals(3, four.count());
  }

  @Test
  void whoLeavesMakesRoomOnce() {
    Place first = enter("a", "first");
    Place second = enter("a", "second");
    first.leave();
    first.leave();
    serve(first, Rank.HOLDER);
    first.hold(1_000);
    assertEquals(1, four.count());
    Place third = enter("a", "third");
    Place fourth = enter("a", "fourth");
    assertEquals(List.of(), gone);
    List.of(second, third, fourth).forEach(Place::leave);
    assertEquals(0, four.count());
  }

  @Test
  void whoHoldsMemoryForTheLongestGoesWhenItIsTooMuch() {
    Place slow = enter("a", "slow");
    Place quick = enter("a", "quick");
    Place small = enter("b", "small");
    slow.hold(40);
    quick.hold(40);
    slow.hold(50); // more of the same: it is still the first
    small.hold(10);
    assertEquals(List.of(), gone);
    slow.hold(51); // nor does asking for more put it behind others
    assertEquals(List.of("slow"), gone);
    quick.hold(0);
    assertFalse(small.answers(Rank.NEW, 100)); // an answer is held as a body is
    quick.hold(1);
    assertEquals(List.of("slow", "small"), gone);
    assertFalse(quick.answers(Rank.NEW, 90));
    quick.answered(); // it has left
    Place next = enter("b", "next");
    next.hold(100);
    assertEquals(List.of("slow", "small"), gone);
  }

  @Test
  void aNewConnectionThatSaysNothingIsClosed() {
    Place unused = enter("a", "a");
    pass(0); // before the clock overflows
    pass(999);
    assertEquals(List.of(), gone);
    pass(1);
    assertEquals(List.of("a"), gone);
  }

  /** Nobody tells that a head has begun but the bytes that come. */
  @Test
  void aHeadThatTricklesIsClosed() {
    Place place = enter("a", "a");
    serve(place, Rank.HOLDER);
    received.put("a", 1L);
    pass(500);
    for (int i = 0; i < 9; i++) {
      received.merge("a", 1L, Long::sum);
      pass(100);
    }
    assertEquals(List.of(), gone);
    pass(100); // what it would send now is answered
    assertEquals(List.of(), gone);
    pass(Connections.LINGER_MS);
    assertEquals(List.of("a"), gone);
  }

  @Test
  void aBodyHasTheTimeOfItsRequestAndThenItsSenderHearsWhy() {
    Place place = enter("a", "a");
    List<String> late = new ArrayList<>();
    place.arrives(() -> late.add("late"));
    for (int i = 0; i < 9; i++) {
      pass(100);
      place.hold(i);
    }
    assertEquals(List.of(), late);
    pass(100);
    assertEquals(List.of("late"), late);
    assertEquals(List.of(), gone);
    assertTrue(place.answers(Rank.NEW, 10));
    place.answered();
    pass(Connections.LINGER_MS - 1);
    assertEquals(List.of(), gone);
    pass(1);
    assertEquals(List.of("a"), gone);
  }

  @Test
  void whoIsServedHasAllTheTimeAndWhoTakesNoAnswerHasNot() {
    Place place = enter("a", "a");
    place.arrives(() -> {});
    place.works();
    pass(1_000_000);
    assertFalse(place.answers(Rank.HOLDER, 10));
    pass(1_999);
    assertEquals(List.of(), gone);
    pass(1);
    assertEquals(List.of("a"), gone);
  }

  @Test
  void betweenRequestsAConnectionMayBeQuietForLonger() {
    Place place = enter("a", "a");
    serve(place, Rank.SERVED);
    pass(4_999);
    assertEquals(List.of(), gone);
    pass(1);
    assertEquals(List.of("a"), gone);
  }

  @Test
  void aServerThatEndsLetsEachConnectionHaveOneMoreAnswer() {
    Place quiet = enter("a", "quiet");
    Place busy = enter("b", "busy");
    busy.works();
    CompletionStage<Integer> drained = four.drain(5_000);
    pass(Connections.LAST_MS);
    assertEquals(List.of("quiet"), gone);
    quiet.leave();
    assertTrue(busy.answers(Rank.HOLDER, 10));
    busy.answered();
    assertFalse(drained.toCompletableFuture().isDone());
    busy.leave();
    assertEquals(0, drained.toCompletableFuture().join());
    Place late = enter("c", "late"); // accepted before
    pass(Connections.LAST_MS);
    assertEquals(List.of("quiet", "late"), gone);
    late.leave();
  }

  @Test
  void whatHangsIsCountedInTheEnd() {
    Place busy = enter("b", "busy");
    busy.works();
    CompletionStage<Integer> drained = four.drain(5_000);
    pass(4_999);
    assertFalse(drained.toCompletableFuture().isDone());
    pass(1);
    assertEquals(1, drained.toCompletableFuture().join());
  }
}
