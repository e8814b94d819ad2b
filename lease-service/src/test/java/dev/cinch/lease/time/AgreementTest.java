package dev.cinch.lease.time;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.TimeBound;
import dev.cinch.lease.TimeBound.Kind;
import dev.cinch.lease.time.MeasuredTime.Agreement;
import java.util.List;
import org.junit.jupiter.api.Test;

class AgreementTest {
  private static TimeBound measured(long earliest, long latest) {
    return new TimeBound(earliest, latest, Kind.MEASURED);
  }

  private static TimeBound assumed(long earliest, long latest) {
    return new TimeBound(earliest, latest, Kind.ASSUMED);
  }

  @Test
  void boundsThatAllOverlapAreIntersected() {
    var all = Agreement.of(List.of(measured(0, 10), measured(4, 20), measured(-5, 8)));
    assertEquals(measured(4, 8), all.bound());
    assertEquals(List.of(), all.outside());
    assertTrue(all.byMajority(3));
  }

  @Test
  void theOneThatDisagreesIsNamedAndDoesNotCount() {
    var most = Agreement.of(List.of(measured(100, 110), measured(0, 10), measured(5, 20)));
    assertEquals(measured(5, 10), most.bound());
    assertEquals(List.of(0), most.outside());
    assertTrue(most.byMajority(3));
  }

  @Test
  void oneAgainstOneIsNoMajority() {
    var tie = Agreement.of(List.of(measured(100, 110), measured(0, 10)));
    assertEquals(measured(0, 10), tie.bound()); // the earlier one: it makes nothing expire
    assertEquals(List.of(0), tie.outside());
    assertFalse(tie.byMajority(2));
  }

  @Test
  void boundsThatOnlyTouchAgree() {
    assertEquals(
        measured(10, 10), Agreement.of(List.of(measured(0, 10), measured(10, 20))).bound());
  }

  @Test
  void whatNobodyMeasuredStaysAssumed() {
    assertEquals(assumed(3, 4), Agreement.of(List.of(assumed(0, 4), assumed(3, 9))).bound());
    assertEquals(measured(3, 4), Agreement.of(List.of(assumed(0, 4), measured(3, 9))).bound());
    // One that was measured and does not agree has no say in what the others are.
    var two = Agreement.of(List.of(assumed(0, 4), assumed(3, 9), measured(50, 60)));
    assertEquals(assumed(3, 4), two.bound());
  }

  @Test
  void boundsKnowTheirMiddle() {
    assertEquals(5, measured(0, 10).midpoint());
    assertEquals(5, measured(0, 10).radius());
    assertEquals(-1, measured(-1, 0).midpoint());
    assertEquals(1, measured(-1, 0).radius()); // covers the end that is further away
    assertThrows(IllegalArgumentException.class, () -> measured(1, 0));
  }

  @Test
  void whatNoNumberHoldsIsCutOff() {
    TimeBound end = TimeBound.around(Long.MAX_VALUE - 5, 10, Kind.ASSUMED);
    assertEquals(assumed(Long.MAX_VALUE - 15, Long.MAX_VALUE), end);
    assertEquals(Long.MAX_VALUE, measured(0, Long.MAX_VALUE - 1).later(5).latest());
    assertEquals(Long.MIN_VALUE, measured(Long.MIN_VALUE, 0).wider(5).earliest());
  }

  @Test
  void boundsAreToldInWords() {
    assertEquals("±1500 ms, assumed", assumed(0, 3_000_000_000L).inWords());
    assertEquals("±12 s, measured", measured(0, 24_000_000_000L).inWords());
  }
}
