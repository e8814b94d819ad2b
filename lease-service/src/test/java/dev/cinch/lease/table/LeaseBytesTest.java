package dev.cinch.lease.table;

import static dev.cinch.lease.instance.Rig.at;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.rules.Inheritance;
import dev.cinch.lease.rules.LeaseState;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentSkipListMap;
import org.junit.jupiter.api.Test;

/**
 * Rule L4, what leases take: the objects that a table leads to, counted, with references of four
 * bytes as heaps below 32 GB have them; against what the table takes them to be.
 */
final class LeaseBytesTest {
  private static final long START = 1_795_240_579_787_123_456L;
  private static final long SECOND = 1_000_000_000L;
  private static final long LEASE_MS = 60_000;
  private static final int LEASES = 5_000;

  private final SplittableRandom random = new SplittableRandom(7);
  private final List<Id> ids = new ArrayList<>();
  private final MemoryLeases table =
      new MemoryLeases(
          TableLimits.DEFAULT,
          1,
          Inheritance.origin(Ending.NONE, Fence.NONE),
          Fence.NONE,
          0,
          Optional.empty());

  @Test
  void l4_aHeldLeaseTakesWhatTheTableTakesItToBe() throws Exception {
    for (int i = 0; i < LEASES; i++) {
      ids.add(acquire(i, 0, LogSet.ALL));
    }
    var granted = new Counted(table);
    granted.assertEstimated(0.95);
    for (int i = 0; i < LEASES; i++) {
      renew(i, LogSet.NONE, LeaseReport.NOTHING);
    }
    assertEquals(granted.bytes, new Counted(table).bytes, "once all are renewed");
  }

  @Test
  void l4_aLeaseThatFollowedAnotherTakesNoMoreThanTheTableTakesItToBe() throws Exception {
    for (int i = 0; i < LEASES; i++) {
      Id first = acquire(i, 0, LogSet.ALL);
      table.release(new Operation.Release(first, wrote(i)), at(START + i));
      ids.add(acquire(i, 1, LogSet.ALL));
      renew(i, LogSet.NONE, wrote(i + 1));
    }
    new Counted(table).assertEstimated(0.85);
  }

  @Test
  void l4_logsOfItsOwnCountToo() throws Exception {
    for (int i = 0; i < LEASES / 10; i++) {
      ids.add(acquire(i, 0, logs(i)));
      renew(i, logs(i + 1), LeaseReport.NOTHING);
    }
    new Counted(table).assertEstimated(0.7);
    for (int i = 0; i < LEASES / 10; i++) {
      ids.add(acquire(i, 200 * SECOND, logs(i))); // after one that was broken
    }
    new Counted(table).assertEstimated(0.7);
  }

  private Id acquire(int i, long after, LogSet logs) throws Exception {
    var id = new Id(random.nextLong(), random.nextLong());
    var name = new LeaseName(String.format("tenant/%08x/%08d", i * 0x9E3779B9, i));
    var unused =
        table.acquire(
            new Operation.Acquire(id, List.of(name), "host-" + i, LEASE_MS, logs, false),
            at(START + i + after),
            Long.MAX_VALUE);
    return id;
  }

  private void renew(int i, LogSet logs, LeaseReport report) throws Exception {
    var unused =
        table.renew(
            new Operation.Renew(ids.get(i), LEASE_MS, logs, report),
            at(START + 20 * SECOND + i),
            Long.MAX_VALUE);
  }

  private static LeaseReport wrote(int i) {
    return new LeaseReport(OptionalLong.of(START + i), false, List.of());
  }

  private static LogSet logs(int from) {
    var logs = new ArrayList<Id>();
    for (int i = 0; i < 10; i++) {
      logs.add(new Id(from, i));
    }
    return LogSet.of(logs);
  }

  /** All that an object leads to. */
  private static final class Counted {
    private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    private final Deque<Object> open = new ArrayDeque<>();
    private long bytes;
    private long estimated;

    Counted(Object from) throws IllegalAccessException {
      open.add(from);
      while (!open.isEmpty()) {
        Object next = open.remove();
        if (!(next instanceof Enum<?>) && seen.add(next)) {
          count(next);
        }
      }
    }

    void assertEstimated(double least) {
      assertTrue(bytes <= estimated, bytes + " bytes, more than " + estimated);
      assertTrue(bytes >= least * estimated, bytes + " bytes, far less than " + estimated);
    }

    private void count(Object object) throws IllegalAccessException {
      if (object instanceof LeaseState lease) {
        estimated += Room.bytesOf(lease);
      } else if (object instanceof Grants.Over over) {
        estimated += over.bytes();
      }
      if (object instanceof String text) {
        bytes += 24 + aligned(16 + text.length());
      } else if (object instanceof Map<?, ?> map) {
        // A node; every fourth has two more of an index, on an average. Or a node and its slots.
        bytes += map.size() * (object instanceof ConcurrentSkipListMap ? 24L + 12 : 32L + 8);
        open.addAll(map.keySet());
        open.addAll(map.values());
      } else if (object instanceof Collection<?> some) {
        // A list of one or two; or a set, which is a map in two wrappers.
        bytes += object instanceof List ? (some.isEmpty() ? 0 : 24) : 88 + 40L * some.size();
        open.addAll(some);
      } else if (object.getClass().getName().startsWith("dev.cinch.")) {
        fields(object);
      }
    }

    private void fields(Object object) throws IllegalAccessException {
      long own = 12;
      for (Field field : object.getClass().getDeclaredFields()) {
        if (Modifier.isStatic(field.getModifiers())) {
          continue;
        }
        Class<?> type = field.getType();
        own += type == long.class ? 8 : type == boolean.class ? 1 : 4;
        if (!type.isPrimitive()) {
          field.setAccessible(true);
          Object value = field.get(object);
          if (value != null) {
            open.add(value);
          }
        }
      }
      bytes += aligned(own);
    }

    private static long aligned(long bytes) {
      return bytes + 7 & ~7;
    }
  }
}
