package dev.cinch.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.lang.reflect.RecordComponent;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Records whose comparison is written by hand compare each component. */
final class RecordsTest {
  private static final LogSet LOGS = LogSet.of(List.of(new Id(1, 2)));

  /** Two values of each type that differ. */
  private static final Map<Class<?>, List<Object>> VALUES =
      Map.ofEntries(
          Map.entry(long.class, List.of(5L, 6L)),
          Map.entry(boolean.class, List.of(false, true)),
          Map.entry(String.class, List.of("a", "b")),
          Map.entry(LeaseName.class, List.of(new LeaseName("a"), new LeaseName("b"))),
          Map.entry(Id.class, List.of(new Id(1, 2), new Id(1, 3))),
          Map.entry(Optional.class, List.of(Optional.empty(), Optional.of(new Id(1, 2)))),
          Map.entry(Ending.class, List.of(Ending.NONE, Ending.RELEASED)),
          Map.entry(LogSet.class, List.of(LogSet.NONE, LOGS)),
          Map.entry(Watermark.class, List.of(Watermark.NONE, new Watermark(1, 2, 3))),
          Map.entry(Fence.class, List.of(Fence.NONE, new Fence(1, LOGS))),
          Map.entry(
              TimeBound.class,
              List.of(
                  new TimeBound(1, 2, TimeBound.Kind.ASSUMED),
                  new TimeBound(1, 3, TimeBound.Kind.ASSUMED))),
          Map.entry(
              java.util.SortedSet.class,
              List.of(new TreeSet<Id>(), new TreeSet<>(List.of(new Id(1, 2))))));

  @Test
  void eachComponentCounts() throws Exception {
    eachCounts(Witness.class, -1);
    eachCounts(Fence.class, -1);
    eachCounts(Watermark.class, -1);
    var bound = new TimeBound(1, 2, TimeBound.Kind.ASSUMED);
    assertEquals(bound, new TimeBound(1, 2, TimeBound.Kind.ASSUMED));
    assertNotEquals(bound, new TimeBound(0, 2, TimeBound.Kind.ASSUMED));
    assertNotEquals(bound, new TimeBound(1, 3, TimeBound.Kind.ASSUMED));
    assertNotEquals(bound, new TimeBound(1, 2, TimeBound.Kind.MEASURED));
    eachCounts(LogSet.class, 0);
    assertNotEquals(LogSet.ALL, LogSet.NONE);
    assertEquals(LogSet.ALL, new LogSet(true, new TreeSet<>()));
  }

  /** All components, but for one that can't be changed alone. */
  private static void eachCounts(Class<? extends Record> type, int but) throws Exception {
    RecordComponent[] components = type.getRecordComponents();
    Object first = make(type, -1);
    assertEquals(first, make(type, -1));
    assertEquals(first.hashCode(), make(type, -1).hashCode());
    assertNotEquals(first, "another");
    for (int i = 0; i < components.length; i++) {
      if (i != but) {
        assertNotEquals(first, make(type, i), components[i].getName());
      }
    }
  }

  /** One whose component of that index is the second value. */
  private static Object make(Class<? extends Record> type, int other) throws Exception {
    RecordComponent[] components = type.getRecordComponents();
    var types = new Class<?>[components.length];
    var values = new Object[components.length];
    for (int i = 0; i < components.length; i++) {
      types[i] = components[i].getType();
      values[i] = Objects.requireNonNull(VALUES.get(types[i])).get(i == other ? 1 : 0);
    }
    return type.getDeclaredConstructor(types).newInstance(values);
  }
}
