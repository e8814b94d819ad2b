package dev.cinch.lease.memory;

import static dev.cinch.lease.memory.Rig.at;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.table.Inheritance;
import dev.cinch.lease.table.LeaseLayout;
import dev.cinch.lease.table.LeaseState;
import dev.cinch.lease.table.SharedLogs;
import dev.cinch.lease.table.SortedRows;
import dev.cinch.lease.table.States;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Grants by their ids, against a map. */
final class GrantsTest {
  private static final long RETENTION = 1_000;
  private static final long HOUR = 3_600_000_000_000L;
  private final SharedLogs logSets = new SharedLogs();
  private final Grants grants = new Grants(1_000_000, Long.MAX_VALUE, RETENTION, logSets);

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
      Grants.Grant found = grants.get(id);
      assertEquals(known != null && known.released, found != null && found.isReleased());
      if (known == null) {
        assertNull(found);
      } else if (!known.released) {
        assertEquals(names(known.names), found == null ? List.of() : found.names());
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
        int place = 0;
        do {
          place = grants.sweep(place, now);
        } while (place != SortedRows.DONE);
        model.values().removeIf(k -> k.end < by);
      }
      assertEquals(
          model.values().stream().mapToInt(k -> k.released ? 1 : k.names).sum(), grants.size());
    }
  }

  @Test
  void l4_releasedOnesGoEarlyWhenThereAreMany() {
    var few = new Grants(10, Long.MAX_VALUE, HOUR, logSets);
    for (int i = 0; i < 30; i++) {
      var unused = put(few, new Id(0, i), 1, 2_000_000_000L * i, Long.MAX_VALUE / 2);
      if (i >= 5) {
        few.release(new Id(0, i), 2_000_000_000L * i);
      }
    }
    assertTrue(few.size() <= 11, "" + few.size());
    assertEquals(names(1), put(few, new Id(0, 3), 1, 0, Long.MAX_VALUE / 2).names());
    assertFalse(Objects.requireNonNull(few.get(new Id(0, 3))).isReleased());
  }

  @Test
  void l4_expiredOnesGoEarlyWhenThereAreManyAndHeldOnesStay() {
    var few = new Grants(10, Long.MAX_VALUE, HOUR, logSets);
    for (int i = 0; i < 30; i++) {
      long now = 2_000_000_000L * i;
      long expiry = i < 5 ? Long.MAX_VALUE / 2 : now + 1;
      assertEquals(1 + i % 2, put(few, new Id(0, i), 1 + i % 2, now, expiry).names().size());
    }
    assertTrue(few.size() <= 12, "" + few.size());
    for (int i = 0; i < 5; i++) {
      assertEquals(names(1 + i % 2), Objects.requireNonNull(few.get(new Id(0, i))).names());
    }
  }

  @Test
  void l4_expiredOnesGoEarlyWhenTheyTakeMuchRoom() {
    var none = new SharedLogs(0);
    var few = new Grants(1_000, 10 * 16_000, HOUR, none);
    for (int i = 0; i < 100; i++) {
      long now = 2_000_000_000L * i;
      long expiry = i < 2 ? Long.MAX_VALUE / 2 : now + 1;
      assertEquals(
          1 + i % 2, put(few, new Id(0, i), logs(), none, 1 + i % 2, now, expiry).names().size());
      assertTrue(few.bytes() <= 12 * 16_100, "" + few.bytes());
    }
    assertTrue(few.size() <= 12, "" + few.size());
    assertEquals(names(2), Objects.requireNonNull(few.get(new Id(0, 1))).names());
  }

  @Test
  void l4_logsThatManyLeasesHaveInCommonAreNotKeptWithAGrantOfSeveralNames() {
    for (int i = 0; i < 100; i++) {
      assertEquals(2, put(grants, new Id(0, i), logs(), logSets, 2, 0, 500).names().size());
    }
    assertTrue(grants.bytes() < 100 * 2 * 150, "" + grants.bytes());
    grants.release(new Id(0, 1), 1);
    int unused = grants.sweep(0, 501 + RETENTION);
    assertEquals(0, grants.bytes());
  }

  /** Steps end where chunks do, and not where grants do. */
  @Test
  void aGrantOfWhichAStepForgotSomeIsForgotten() {
    for (int i = 0; i < 2_000; i++) {
      assertEquals(3, put(grants, new Id(0, i), LogSet.ALL, logSets, 3, 0, 500).names().size());
    }
    int place = 0;
    do {
      place = grants.sweep(place, 501 + RETENTION);
      for (int i = 0; i < 2_000; i++) {
        Grants.Grant grant = grants.get(new Id(0, i));
        assertTrue(grant == null || grant.names().size() == 3);
      }
    } while (place != SortedRows.DONE);
    assertEquals(0, grants.size());
  }

  private static LogSet logs() {
    var ids = new ArrayList<Id>();
    for (int i = 0; i < 1_000; i++) {
      ids.add(new Id(1, i));
    }
    return LogSet.of(ids);
  }

  private void put(Id id, int names, long now, long expiry) {
    var unused = put(grants, id, names, now, expiry);
  }

  private Grants.Grant put(Grants to, Id id, int count, long now, long expiry) {
    return put(to, id, LogSet.ALL, logSets, count, now, expiry);
  }

  private Grants.Grant put(
      Grants to, Id id, LogSet logs, SharedLogs sets, int count, long now, long expiry) {
    List<LeaseName> names = names(count).stream().map(LeaseName::new).toList();
    var request = new Operation.Acquire(id, names, "h", 500, logs, false);
    for (LeaseName name : names) {
      var lease = new LeaseState(name.value());
      States.grant(
          lease,
          request,
          Inheritance.origin(Ending.NONE, Fence.NONE),
          at(now),
          expiry,
          new Id(now, 1));
      to.put(LeaseLayout.pack(lease, sets), now);
    }
    Grants.Grant grant = Objects.requireNonNull(to.get(id));
    assertTrue(to.isFor(grant, request, names(count)));
    return grant;
  }

  private static List<String> names(int count) {
    return List.of("a", "b", "c").subList(0, count);
  }
}
