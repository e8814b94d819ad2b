package dev.cinch.lease.register.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class AdmissionTest {
  private final Admission admission = new Admission(2, 3);
  private final List<Integer> begun = new ArrayList<>();

  private boolean enter(int number, boolean begins) {
    return admission.enter(
        () -> {
          begun.add(number);
          return begins;
        });
  }

  @Test
  void soManyAreUnderWayAndSoManyWaitInTheirOrder() {
    for (int i = 0; i < 5; i++) {
      assertTrue(enter(i, true));
    }
    assertFalse(enter(5, true));
    assertEquals(List.of(0, 1), begun);
    admission.leave();
    assertEquals(List.of(0, 1, 2), begun);
    assertTrue(enter(6, true));
    for (int i = 0; i < 5; i++) {
      admission.leave();
    }
    assertEquals(List.of(0, 1, 2, 3, 4, 6), begun);
    assertTrue(enter(7, true));
    assertTrue(enter(8, true));
    assertTrue(enter(9, true));
    assertEquals(List.of(0, 1, 2, 3, 4, 6, 7, 8), begun);
  }

  @Test
  void whatDoesNotBeginTakesNoPlace() {
    assertTrue(enter(0, false));
    assertTrue(enter(1, true));
    assertTrue(enter(2, true));
    assertTrue(enter(3, false));
    assertTrue(enter(4, false));
    assertTrue(enter(5, true));
    admission.leave();
    assertEquals(List.of(0, 1, 2, 3, 4, 5), begun);
    admission.leave();
    admission.leave();
    assertTrue(enter(6, true));
    assertTrue(enter(7, true));
    assertTrue(enter(8, true));
    assertEquals(List.of(0, 1, 2, 3, 4, 5, 6, 7), begun);
  }
}
