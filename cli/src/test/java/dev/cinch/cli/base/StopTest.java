package dev.cinch.cli.base;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Which signals are one wish. */
class StopTest {
  private static final int INT = 2;
  private static final int TERM = 15;

  @Test
  void signalsThatComeTogetherAreOneWishAndALaterOneEndsTheProcess() {
    var clock = new AtomicLong(Long.MAX_VALUE - 1_000); // may be any, and overflow
    List<Integer> halted = new ArrayList<>();
    List<String> asked = new ArrayList<>();
    Stop stop = Stop.byHand(clock::get, halted::add);
    stop.onRequest(() -> asked.add("once"));
    assertFalse(stop.requested());
    stop.arrived(TERM);
    stop.arrived(TERM);
    clock.addAndGet(499_999_999);
    stop.arrived(INT);
    assertTrue(stop.requested());
    assertEquals(143, stop.exitCode());
    assertEquals(List.of("once"), asked);
    assertEquals(List.of(), halted);
    clock.addAndGet(1);
    stop.arrived(INT);
    assertEquals(List.of(130), halted);
  }
}
