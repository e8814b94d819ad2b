package dev.cinch.lease;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Rule L2, as everybody asks it. */
final class WatermarkTest {
  private static boolean tooFar(long timestamp, long latest, long allowed) {
    return new Watermark(timestamp, 0, latest).isTooFarAhead(allowed);
  }

  @Test
  void l2_itMayBeAsFarAheadAsIsAllowed() {
    assertFalse(tooFar(100, 100, 0));
    assertTrue(tooFar(101, 100, 0));
    assertFalse(tooFar(150, 100, 50));
    assertTrue(tooFar(151, 100, 50));
    assertFalse(tooFar(-500, 100, 0));
  }

  @Test
  void l2_whatNoNumberHoldsIsTooFar() {
    assertTrue(tooFar(Long.MAX_VALUE, -2, Long.MAX_VALUE));
    assertTrue(tooFar(Long.MAX_VALUE, Long.MIN_VALUE + 1, Long.MAX_VALUE));
    assertFalse(tooFar(Long.MIN_VALUE, Long.MAX_VALUE, 0));
  }

  @Test
  void l2_withoutABoundNothingIsTooFar() {
    assertFalse(tooFar(Long.MAX_VALUE, Long.MIN_VALUE, 0));
    assertFalse(Watermark.NONE.isTooFarAhead(0));
  }
}
