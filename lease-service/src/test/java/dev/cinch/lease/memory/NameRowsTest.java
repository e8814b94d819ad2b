package dev.cinch.lease.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Id;
import dev.cinch.lease.table.States;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Rows in the order of their names, against a sorted map. */
final class NameRowsTest {
  private final LogSets logSets = new LogSets();
  private final NameRows rows = new NameRows();
  private final TreeMap<String, byte[]> model = new TreeMap<>();

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6})
  void theyAreWhatASortedMapWouldBe(long seed) {
    var random = new Random(seed);
    int names = 100 + random.nextInt(5_000);
    for (int step = 0; step < 20_000; step++) {
      String name = (random.nextBoolean() ? "a/" : "b") + random.nextInt(names);
      if (random.nextInt(3) > 0) {
        put(name);
      }
      assertSame(model.get(name), rows.get(name));
      if (random.nextInt(4_000) == 0) {
        int downTo = random.nextInt(model.size() + 1);
        int kind = random.nextInt(3);
        rows.removeUntil(downTo, Long.MAX_VALUE, row -> goes(LeaseRow.name(row), kind));
        for (String n : new ArrayList<>(model.keySet())) {
          if (model.size() > downTo && goes(n, kind)) {
            model.remove(n);
          }
        }
      }
      if (random.nextInt(500) == 0) {
        String from = random.nextInt(4) == 0 ? "" : name;
        boolean inclusive = random.nextBoolean();
        assertEquals(
            model.tailMap(from, inclusive).keySet().stream().limit(400).toList(),
            rows.from(from, inclusive, 400, row -> true).stream().map(LeaseRow::name).toList());
      }
      assertEquals(model.size(), rows.size());
    }
    assertEquals(model.values().stream().mapToLong(NameRows::bytesOf).sum(), rows.bytes());
    assertEquals(List.copyOf(model.keySet()), all());
  }

  @Test
  void namesInEitherOrderArriveInOrder() {
    for (int i = 0; i < 3_000; i++) {
      put(String.format("up%05d", i));
      put(String.format("down%05d", 3_000 - i));
    }
    assertEquals(List.copyOf(model.keySet()), all());
  }

  @Test
  void onlyLeasesOfTheSameRequestAreRenewedInTheirPlace() {
    var lease = new LeaseEntry("n");
    States.set(lease, new Id(1, 2), 1_000, "");
    byte[] first = rows.renew(null, LeaseRow.pack(lease, logSets));
    assertSame(first, rows.get("n"));
    States.set(lease, new Id(1, 2), 1_001, "");
    assertSame(first, rows.renew(first, LeaseRow.pack(lease, logSets)));
    assertEquals(1_001, LeaseRow.expiry(first));
    States.set(lease, new Id(1, 2), 1_001, "longer");
    byte[] second = rows.renew(first, LeaseRow.pack(lease, logSets));
    assertSame(second, rows.get("n"));
    assertEquals(NameRows.bytesOf(second), rows.bytes());
    // The grants of the request before may still have its row, and find it by the id in it.
    States.set(lease, new Id(1, 3), 1_001, "longer");
    byte[] third = rows.renew(second, LeaseRow.pack(lease, logSets));
    assertSame(third, rows.get("n"));
    assertEquals(new Id(1, 2), LeaseRow.id(second));
  }

  @Test
  void aRowSaysOnceItIsNotItsNamesAnyMore() {
    put("a");
    byte[] a = rows.get("a");
    put("b");
    byte[] b = rows.get("b");
    assertNotNull(a);
    assertNotNull(b);
    assertTrue(LeaseRow.isCurrent(a) && LeaseRow.isCurrent(b));
    put("a");
    assertFalse(LeaseRow.isCurrent(a));
    rows.removeUntil(1, Long.MAX_VALUE, row -> row == b);
    assertFalse(LeaseRow.isCurrent(b));
    // Nobody takes what was replaced for what there is.
    byte[] again = pack("b");
    assertSame(again, rows.renew(b, again));
    assertSame(again, rows.get("b"));
  }

  @Test
  void aPageEndsWhereRowsNoLongerMatch() {
    for (String name : List.of("a", "b/1", "b/2", "c")) {
      put(name);
    }
    assertEquals(
        List.of("b/1", "b/2"),
        rows.from("b/", true, 10, row -> LeaseRow.name(row).startsWith("b/")).stream()
            .map(LeaseRow::name)
            .toList());
    assertEquals(List.of(), rows.from("ü", true, 10, row -> true));
  }

  @Test
  void ofNoneThereIsNothing() {
    assertNull(rows.get("a"));
    assertEquals(List.of(), all());
    rows.removeUntil(0, 0, row -> true);
    put("a");
    assertNotNull(rows.get("a"));
    rows.removeUntil(0, 0, row -> true);
    assertNull(rows.get("a"));
    assertEquals(0, rows.size());
  }

  @Test
  void theyAreRemovedUntilFewEnoughBytesAreLeft() {
    for (String name : List.of("a", "b", "c", "d")) {
      put(name);
    }
    long each = rows.bytes() / 4;
    rows.removeUntil(4, each * 3 - 1, row -> true);
    assertEquals(List.of("c", "d"), all());
    assertEquals(each * 2, rows.bytes());
  }

  /** For want of memory, say: a lease whose row was lost would be granted to somebody else. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 255, 256, 700, 999})
  void whereMakingRoomFailsAllAreThere(int after) {
    for (int i = 0; i < 1_000; i++) {
      put("n" + i);
    }
    long before = rows.bytes();
    var looks = new AtomicInteger();
    assertThrows(
        OutOfMemoryError.class,
        () ->
            rows.removeUntil(
                0,
                0,
                row -> {
                  if (looks.getAndIncrement() == after) {
                    throw new OutOfMemoryError("made by a test");
                  }
                  return looks.get() % 2 == 0;
                }));
    assertEquals(List.copyOf(model.keySet()), all());
    assertEquals(1_000, rows.size());
    assertEquals(before, rows.bytes());
    put("n1000");
    assertEquals(List.copyOf(model.keySet()), all());
  }

  private static boolean goes(String name, int kind) {
    return Math.floorMod(name.hashCode(), 3) <= kind;
  }

  private List<String> all() {
    return rows.from("", true, Integer.MAX_VALUE, row -> true).stream()
        .map(LeaseRow::name)
        .toList();
  }

  private byte[] pack(String name) {
    var lease = new LeaseEntry(name);
    States.set(lease, new Id(1, 2), 0, "");
    return LeaseRow.pack(lease, logSets);
  }

  private void put(String name) {
    byte[] row = pack(name);
    rows.put(row);
    model.put(name, row);
  }
}
