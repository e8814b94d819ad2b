package dev.cinch.cli.base;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

/** What counts where several logs end in several ways. */
class ExitCodeTest {
  @Test
  void theWorstCountsWhicheverCameFirst() {
    List<Integer> order = List.of(0, 3, 4, 1);
    for (int one : order) {
      for (int other : order) {
        int worse = order.get(Math.max(order.indexOf(one), order.indexOf(other)));
        assertEquals(worse, ExitCode.worse(one, other), one + " and " + other);
      }
    }
  }
}
