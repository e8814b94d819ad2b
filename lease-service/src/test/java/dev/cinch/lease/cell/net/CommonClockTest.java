package dev.cinch.lease.cell.net;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class CommonClockTest {
  private static final long EPSILON = 100;

  private final AtomicLong wall = new AtomicLong(1_000);
  private final CommonClock clock = new CommonClock(wall::get, EPSILON);

  private long at(long time) {
    wall.set(time);
    return clock.getAsLong();
  }

  @Test
  void stepsBackWithinTheErrorAreNotSeen() {
    assertEquals(1_000, at(1_000));
    assertEquals(1_200, at(1_200));
    assertEquals(1_200, at(1_199));
    assertEquals(1_200, at(1_100));
    assertEquals(1_201, at(1_201));
  }

  /** The clock was wrong before; to go on from that would be as wrong, for as long. */
  @Test
  void aStepBackByMoreIsFollowed() {
    assertEquals(1_200, at(1_200));
    assertEquals(1_099, at(1_099));
    assertEquals(1_100, at(1_100));
  }

  @Test
  void timesBefore1970GoOnAsOthersDo() {
    assertEquals(-5_000, at(-5_000));
    assertEquals(-5_000, at(-5_001));
    assertEquals(0, at(0));
  }
}
