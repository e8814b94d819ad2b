package dev.cinch.lease.cell;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Rows in the order of their names, against a sorted map. */
final class SortedRowsTest {
  private final SortedRows rows = new Row.ByName();
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
      assertSame(model.get(name), rows.get(key(name)));
      if (random.nextInt(1_000) == 0) {
        int kind = random.nextInt(3);
        int least = 1 + random.nextInt(1_000);
        int place = 0;
        do {
          place = rows.sweep(place, least, row -> goes(name(row), kind));
        } while (place != SortedRows.DONE);
        model.keySet().removeIf(n -> goes(n, kind));
      }
      if (random.nextInt(500) == 0) {
        String from = random.nextInt(4) == 0 ? "" : name;
        boolean inclusive = random.nextBoolean();
        assertEquals(
            model.tailMap(from, inclusive).keySet().stream().limit(400).toList(),
            rows.from(key(from), inclusive, 400, row -> true).stream()
                .map(SortedRowsTest::name)
                .toList());
      }
      assertEquals(model.size(), rows.size());
    }
    assertEquals(model.values().stream().mapToLong(SortedRows::bytesOf).sum(), rows.bytes());
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
  void aPageEndsWhereRowsNoLongerMatch() {
    for (String name : List.of("a", "b/1", "b/2", "c")) {
      put(name);
    }
    assertEquals(
        List.of("b/1", "b/2"),
        rows.from(key("b/"), true, 10, row -> name(row).startsWith("b/")).stream()
            .map(SortedRowsTest::name)
            .toList());
    assertEquals(List.of(), rows.from(key("ü"), true, 10, row -> true));
  }

  @Test
  void ofNoneThereIsNothing() {
    assertNull(rows.get(key("a")));
    assertEquals(List.of(), all());
    assertEquals(SortedRows.DONE, rows.sweep(7, 1, row -> true));
    for (int i = 0; i < 2; i++) {
      put("a");
      assertNotNull(rows.get(key("a")));
      assertEquals(SortedRows.DONE, rows.sweep(0, 1, row -> true));
      assertNull(rows.get(key("a")));
      assertEquals(0, rows.size());
      assertEquals(0, rows.bytes());
    }
  }

  @Test
  void aSweepLooksAtAPartAndTheNextOneGoesOn() {
    for (int i = 0; i < 10_000; i++) {
      put("n" + i);
    }
    var looked = new AtomicInteger();
    int place = 0;
    int steps = 0;
    do {
      place =
          rows.sweep(
              place,
              1_000,
              row -> {
                looked.incrementAndGet();
                return false;
              });
      steps++;
    } while (place != SortedRows.DONE);
    assertEquals(10_000, looked.get());
    assertTrue(steps >= 7 && steps <= 10, "" + steps);
  }

  /** Once most are gone, what is left takes no more room than it would have by itself. */
  @Test
  void fewAreLeftInFewChunks() {
    for (int i = 0; i < 20_000; i++) {
      put("n" + i);
    }
    assertEquals(
        SortedRows.DONE, rows.sweep(0, Long.MAX_VALUE, row -> name(row).hashCode() % 50 != 0));
    model.keySet().removeIf(n -> n.hashCode() % 50 != 0);
    assertEquals(List.copyOf(model.keySet()), all());
    int place = 0;
    int steps = 0;
    do {
      place = rows.sweep(place, 1, row -> false);
      steps++;
    } while (place != SortedRows.DONE);
    assertTrue(steps <= 2 + rows.size() / 100, steps + " chunks of " + rows.size());
  }

  private static boolean goes(String name, int kind) {
    return Math.floorMod(name.hashCode(), 3) <= kind;
  }

  private List<String> all() {
    return rows.all().stream().map(SortedRowsTest::name).toList();
  }

  private static byte[] key(String name) {
    return name.getBytes(StandardCharsets.UTF_8);
  }

  private static String name(byte[] row) {
    return new String(Row.name(row).toArray(), StandardCharsets.UTF_8);
  }

  private static byte[] pack(String name) {
    return Row.of(Bytes.of(name), Ballot.NONE);
  }

  private void put(String name) {
    byte[] row = pack(name);
    rows.put(row);
    model.put(name, row);
  }
}
