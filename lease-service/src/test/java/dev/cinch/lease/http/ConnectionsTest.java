package dev.cinch.lease.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.cinch.lease.http.Connections.Place;
import dev.cinch.lease.http.Connections.Rank;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Who has to go for whom. */
final class ConnectionsTest {
  private final Connections four = new Connections(new Connections.Limits(4, 3, 1, 1, 1, 100));
  private final List<String> gone = new ArrayList<>();

  private Place enter(String peer, String name) {
    Place place = four.enter(peer);
    assertNotNull(place);
    place.whenEvicted(() -> gone.add(name));
    return place;
  }

  @Test
  void theOldestStrangerGoesFirstThenWhoAskedSomethingThenHolders() {
    Place holder = enter("a", "holder");
    Place asked = enter("a", "asked");
    enter("b", "first");
    enter("b", "second");
    holder.quiet(Rank.HOLDER);
    asked.quiet(Rank.SERVED);
    List<Place> served = new ArrayList<>();
    for (String name : List.of("3", "4", "5", "6")) {
      Place place = enter(name, name);
      place.busy();
      served.add(place);
    }
    assertEquals(List.of("first", "second", "asked", "holder"), gone);
    assertNull(four.enter("c"));
    served.get(2).quiet(Rank.NEW);
    enter("c", "7");
    assertEquals("5", gone.get(4));
    assertEquals(4, four.count());
  }

  @Test
  void aRankIsNeverLost() {
    Place holder = enter("a", "holder");
    holder.busy();
    holder.quiet(Rank.HOLDER);
    holder.busy();
    holder.quiet(Rank.NEW); // a refusal
    for (int i = 0; i < 100; i++) {
      enter("" + i, "stranger");
    }
    assertEquals(97, gone.size());
    assertEquals(List.of(), gone.stream().filter(g -> g.equals("holder")).toList());
  }

  @Test
  void aPeerWithTooManyLosesItsOwnAndNobodyElses() {
    enter("b", "other");
    for (int i = 0; i < 10; i++) {
      enter("a", "a" + i);
    }
    assertEquals(List.of("a0", "a1", "a2", "a3", "a4", "a5", "a6"), gone);
    assertEquals(4, four.count());
  }

  @Test
  void whoLeavesMakesRoomOnce() {
    Place first = enter("a", "first");
    enter("a", "second");
    first.leave();
    first.leave();
    first.busy();
    first.quiet(Rank.HOLDER);
    first.hold(1_000);
    assertEquals(1, four.count());
    enter("a", "third");
    enter("a", "fourth");
    assertEquals(List.of(), gone);
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
    small.hold(100);
    quick.hold(1);
    assertEquals(List.of("slow", "small"), gone);
  }
}
