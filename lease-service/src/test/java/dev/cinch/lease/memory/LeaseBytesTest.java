package dev.cinch.lease.memory;

import static dev.cinch.lease.memory.Rig.at;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.table.Inheritance;
import dev.cinch.lease.table.SortedRows;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/**
 * Rule L4, what held leases take: the arrays that a table leads to, counted, with references of
 * four bytes as heaps below 32 GB have them.
 */
final class LeaseBytesTest {
  private static final long START = 1_795_240_579_787_123_456L;
  private static final long SECOND = 1_000_000_000L;
  private static final long LEASE_MS = 60_000;

  private static final int LEASES = 44_800;

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
  void l4_aLeaseTakesAtMost85BytesBeyondItsNameAndHolder() throws Exception {
    long before = arrayBytes(table);
    long text = 0;
    for (int i = 0; i < LEASES; i++) {
      var id = new Id(random.nextLong(), random.nextLong());
      String name = String.format("tenant/%08x/%08d", i * 0x9E3779B9, i);
      String holder = "host-" + i;
      var unused =
          table.acquire(
              new Operation.Acquire(
                  id, List.of(new LeaseName(name)), holder, LEASE_MS, LogSet.ALL, false),
              at(START + i),
              Long.MAX_VALUE);
      ids.add(id);
      text += name.length() + holder.length();
    }
    long granted = arrayBytes(table) - before;
    long most = text + 85L * LEASES;
    assertTrue(granted <= most, () -> granted + " bytes, more than " + most);
    for (int i = 0; i < LEASES; i++) {
      var unused =
          table.renew(
              new Operation.Renew(ids.get(i), LEASE_MS, LogSet.NONE, LeaseReport.NOTHING),
              at(START + 20 * SECOND + i),
              Long.MAX_VALUE);
    }
    assertEquals(granted, arrayBytes(table) - before, "once all are renewed");
  }

  /** Of all arrays that an object of this package leads to. */
  private static long arrayBytes(Object from) throws IllegalAccessException {
    var seen = Collections.newSetFromMap(new IdentityHashMap<Object, Boolean>());
    var open = new ArrayDeque<Object>(List.of(from));
    long bytes = 0;
    while (!open.isEmpty()) {
      Object found = open.remove();
      if (!seen.add(found)) {
        continue;
      }
      if (found instanceof byte[] row) {
        bytes += 16 + row.length + 7 & ~7;
      } else if (found.getClass().isArray()) {
        bytes += 16 + 4L * Array.getLength(found) + 7 & ~7;
        if (found instanceof Object[] references) {
          for (Object next : references) {
            if (next != null) {
              open.add(next);
            }
          }
        }
      } else if (found instanceof SortedRows
          || found.getClass().getPackage() == MemoryLeases.class.getPackage()) {
        Class<?> type = found instanceof SortedRows ? SortedRows.class : found.getClass();
        for (Field field : type.getDeclaredFields()) {
          if (!Modifier.isStatic(field.getModifiers()) && !field.getType().isPrimitive()) {
            field.setAccessible(true);
            Object next = field.get(found);
            if (next != null) {
              open.add(next);
            }
          }
        }
      }
    }
    return bytes;
  }
}
