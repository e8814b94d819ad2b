package dev.cinch.lease.table;

import static dev.cinch.lease.instance.Rig.at;
import static dev.cinch.lease.time.ManualTime.START;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.instance.Rig;
import dev.cinch.lease.rules.Inheritance;
import dev.cinch.lease.rules.States;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Grants by their ids, against a map. */
final class GrantsTest {
  private static final long RETENTION = 1_000;
  private static final long HOUR = 3_600_000_000_000L;
  private final Grants grants = new Grants(1_000_000, Long.MAX_VALUE, RETENTION);

  /** What a grant is in the model. */
  private record Known(int names, boolean released, long end) {}

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void theyAreWhatAMapWouldBe(long seed) {
    var random = new Random(seed);
    Map<Id, Known> model = new HashMap<>();
    long now = 0;
    for (int step = 0; step < 20_000; step++) {
      now += random.nextInt(3);
      var id = new Id(random.nextInt(2), random.nextInt(400));
      Known known = model.get(id);
      Grants.Entry found = grants.get(id);
      if (known == null) {
        assertNull(found);
      } else if (known.released) {
        assertEquals(new Grants.Over(known.end, true), found);
      } else {
        assertEquals(names(known.names), assertInstanceOf(Grants.Current.class, found).names());
      }
      if (known == null) {
        int names = 1 + random.nextInt(3);
        put(id, names, now, now + 500);
        model.put(id, new Known(names, false, now + 500));
      } else if (random.nextInt(4) == 0) {
        grants.release(id, now);
        model.put(id, new Known(0, true, now));
      }
      if (random.nextInt(100) == 0) {
        long by = now - RETENTION;
        sweepAll(now);
        model.values().removeIf(k -> k.end < by);
      }
      assertEquals(model.size(), grants.size());
      assertEquals(
          model.values().stream().mapToInt(k -> k.released ? 1 : k.names).sum(), grants.leases());
    }
    sweepAll(Long.MAX_VALUE);
    assertEquals(0, grants.size());
    assertEquals(0, grants.leases());
    assertEquals(0, grants.bytes());
  }

  private void sweepAll(long now) {
    int steps = 1;
    while (!grants.sweep(now)) {
      steps++;
    }
    assertTrue(steps <= Grants.STEPS, steps + " steps");
  }

  @Test
  void aSweepLooksAtAPartAndTheNextOneGoesOn() {
    for (int i = 0; i < 1_000; i++) {
      put(new Id(0, i), 1, 0, 500);
    }
    assertTrue(!grants.sweep(501 + RETENTION) && grants.size() > 500, "" + grants.size());
    sweepAll(501 + RETENTION);
    assertEquals(0, grants.size());
  }

  @Test
  void l4_releasedOnesGoEarlyWhenThereAreMany() {
    var few = new Grants(10, Long.MAX_VALUE, HOUR);
    for (int i = 0; i < 30; i++) {
      var unused = put(few, new Id(0, i), LogSet.ALL, 1, 2_000_000_000L * i, Long.MAX_VALUE / 2);
      if (i >= 5) {
        few.release(new Id(0, i), 2_000_000_000L * i);
      }
    }
    assertTrue(few.size() <= 11, "" + few.size());
    var unused = put(few, new Id(0, 3), LogSet.ALL, 1, 0, Long.MAX_VALUE / 2);
  }

  @Test
  void l4_expiredOnesGoEarlyWhenThereAreManyAndHeldOnesStay() {
    var few = new Grants(10, Long.MAX_VALUE, HOUR);
    for (int i = 0; i < 30; i++) {
      long now = 2_000_000_000L * i;
      long expiry = i < 5 ? Long.MAX_VALUE / 2 : now + 1;
      var unused = put(few, new Id(0, i), LogSet.ALL, 1 + i % 2, now, expiry);
    }
    assertTrue(few.leases() <= 12, "" + few.leases());
    for (int i = 0; i < 5; i++) {
      var held = assertInstanceOf(Grants.Current.class, few.get(new Id(0, i)));
      assertEquals(names(1 + i % 2), held.names());
    }
  }

  @Test
  void l4_expiredOnesGoEarlyWhenTheyTakeMuchRoom() {
    var few = new Grants(1_000, 1_000_000, HOUR);
    for (int i = 0; i < 100; i++) {
      long now = 2_000_000_000L * i;
      long expiry = i < 2 ? Long.MAX_VALUE / 2 : now + 1;
      var unused = put(few, new Id(0, i), logs(), 1 + i % 2, now, expiry);
      assertTrue(few.bytes() <= 1_200_000, "" + few.bytes());
    }
    assertTrue(few.leases() <= 14, "" + few.leases());
    assertEquals(names(2), assertInstanceOf(Grants.Current.class, few.get(new Id(0, 1))).names());
  }

  /** A walk may come to what there was before the map grew. */
  @Test
  void aSweepTakesNothingThatLastsLongerSinceItsLastStep() {
    for (int trial = 0; trial < 100; trial++) {
      var random = new Random(trial);
      List<Id> ids = Stream.generate(() -> Id.random(random)).limit(3_000).toList();
      var some = new Grants(1_000_000, Long.MAX_VALUE, RETENTION);
      ids.subList(0, 600).forEach(id -> put(some, id, 0, 500));
      assertFalse(some.sweep(1));
      ids.subList(600, 3_000).forEach(id -> put(some, id, 1, HOUR)); // in a larger map from here
      ids.subList(0, 600).forEach(id -> put(some, id, 1, HOUR));
      assertFalse(some.sweep(501 + RETENTION));
      assertEquals(3_000, some.size());
      assertEquals(3_000, some.leases());
    }
  }

  private static void put(Grants to, Id id, long now, long expiry) {
    var unused = put(to, id, LogSet.ALL, 1, now, expiry);
  }

  private static LogSet logs() {
    var ids = new ArrayList<Id>();
    for (int i = 0; i < 1_000; i++) {
      ids.add(new Id(1, i));
    }
    return LogSet.of(ids);
  }

  private void put(Id id, int names, long now, long expiry) {
    var unused = put(grants, id, LogSet.ALL, names, now, expiry);
  }

  private static Grants.Current put(
      Grants to, Id id, LogSet logs, int count, long now, long expiry) {
    List<LeaseName> names = names(count);
    var request = new Operation.Acquire(id, names, "h", 500, logs, false);
    to.put(
        States.granted(request, Inheritance.origin(Ending.NONE, Fence.NONE), at(now), expiry), now);
    var grant = assertInstanceOf(Grants.Current.class, to.get(id));
    assertTrue(grant.isFull());
    assertTrue(grant.isFor(request, names));
    return grant;
  }

  @Test
  void l4_requestsThatAreGivenBackBeforeTheyComeAreForgotten() {
    var grants = new Grants(10, Long.MAX_VALUE, 60_000_000_000L);
    for (int i = 0; i < 1_000; i++) {
      grants.giveUp(new Id(0, i), START + i * 2_000_000_000L);
      long end = START + i * 2_000_000_000L;
      assertEquals(new Grants.Over(end, false), grants.get(new Id(0, i)));
    }
    assertTrue(grants.size() <= 31, "" + grants.size());
  }

  private static List<LeaseName> names(int count) {
    return Rig.names("a", "b", "c").subList(0, count);
  }
}
