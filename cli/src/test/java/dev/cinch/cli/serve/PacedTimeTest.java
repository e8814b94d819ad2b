package dev.cinch.cli.serve;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.cinch.lease.time.TimeSource;
import org.junit.jupiter.api.Test;

class PacedTimeTest {
  @Test
  void theMonotonicClockRunsFasterAndTheWallClockDoesNot() throws InterruptedException {
    var slept = new long[1];
    var right =
        new TimeSource() {
          @Override
          public long wallNanos() {
            return 7_000;
          }

          @Override
          public long monotonicNanos() {
            return 2_000;
          }

          @Override
          public void sleepNanos(long nanos) {
            slept[0] = nanos;
          }
        };
    var fast = new PacedTime(right, 1.25);
    assertEquals(2_500, fast.monotonicNanos());
    assertEquals(7_000, fast.wallNanos());
    fast.sleepNanos(2_500);
    assertEquals(2_000, slept[0]);
  }
}
