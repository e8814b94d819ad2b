package dev.cinch.lease.time;

import static dev.cinch.lease.time.ManualTime.START;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.cinch.lease.TimeBound;
import dev.cinch.lease.TimeBound.Kind;
import dev.cinch.lease.time.BoundSource.Measurement;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class MeasuredTimeTest {
  private static final long MS = 1_000_000;
  private static final long SECOND = 1_000 * MS;

  private final ManualTime time = new ManualTime();

  /** Says that the machine's clock is ahead by so much, and how far off that may be. */
  private final class Source implements BoundSource {
    private final String name;
    private final long aheadMs;
    private final long radiusMs;
    private @Nullable String silence;

    Source(String name, long aheadMs, long radiusMs) {
      this.name = name;
      this.aheadMs = aheadMs;
      this.radiusMs = radiusMs;
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public Measurement measure() throws IOException {
      if (silence != null) {
        throw new IOException(silence);
      }
      long wall = time.wallNanos();
      TimeBound bound = TimeBound.around(wall - aheadMs * MS, radiusMs * MS, Kind.MEASURED);
      return new Measurement(bound, time.monotonicNanos(), wall);
    }
  }

  private MeasuredTime asked(BoundSource... sources) {
    var measured = new MeasuredTime(time, Arrays.asList(sources));
    measured.refresh();
    return measured;
  }

  private TimeBound now(MeasuredTime measured) {
    return measured.at(time.wallNanos(), time.monotonicNanos());
  }

  private static TimeBound measured(long earliest, long latest) {
    return new TimeBound(earliest, latest, Kind.MEASURED);
  }

  private static TimeBound assumed(long earliest, long latest) {
    return new TimeBound(earliest, latest, Kind.ASSUMED);
  }

  @Test
  void withoutAnAnswerTheClockIsAssumedToBeRight() {
    var source = new Source("a", 0, 10);
    source.silence = "gone";
    MeasuredTime measured = asked(source);
    assertEquals(assumed(START - SECOND, START + SECOND), now(measured));
    assertEquals(List.of("a: gone"), measured.problems());
    assertEquals(List.of("a: not asked yet"), new MeasuredTime(time, List.of(source)).problems());
  }

  @Test
  void withoutAMajorityThereIsDoubt() {
    var liar = new Source("a", 60_000, 10);
    MeasuredTime measured = asked(liar);
    assertEquals(Optional.of("no majority among a, this machine's clock"), measured.doubt());
    assertEquals(assumed(START - 60_010 * MS, START + SECOND), now(measured));
    assertEquals(Optional.of("no majority among a, this machine's clock"), measured.doubt());
    assertEquals(Optional.empty(), asked(liar, new Source("b", 0, 10)).doubt());
    var unasked = new MeasuredTime(time, List.of(liar));
    assertEquals(Optional.empty(), unasked.doubt());
    unasked.refresh();
    assertEquals(measured.doubt(), unasked.doubt());
  }

  @Test
  void theBoundsOfSourcesThatAgreeAreCombined() {
    MeasuredTime measured = asked(new Source("a", 100, 300), new Source("b", -100, 300));
    assertEquals(measured(START - 200 * MS, START + 200 * MS), now(measured));
    assertEquals(List.of(), measured.problems());
    // What one says is not cut down by what is only assumed.
    MeasuredTime wide = asked(new Source("a", 0, 3_000));
    assertEquals(measured(START - 3 * SECOND, START + 3 * SECOND), now(wide));
  }

  @Test
  void aSourceThatContradictsTheOthersIsLeftOutAndNamed() {
    MeasuredTime measured =
        asked(new Source("a", 0, 10), new Source("liar", 60_000, 10), new Source("b", 0, 20));
    assertEquals(measured(START - 10 * MS, START + 10 * MS), now(measured));
    assertEquals(List.of("liar contradicts the others"), measured.problems());
  }

  @Test
  void twoSourcesOutvoteTheMachinesClock() {
    MeasuredTime measured = asked(new Source("a", 60_000, 10), new Source("b", 60_000, 20));
    long right = START - 60 * SECOND;
    assertEquals(measured(right - 10 * MS, right + 10 * MS), now(measured));
    assertEquals(List.of("this machine's clock contradicts the others"), measured.problems());
  }

  /** One lying server must not make the service refuse what is right. */
  @Test
  void whereNobodyHasAMajorityTheBoundCoversAll() {
    MeasuredTime measured = asked(new Source("a", 60_000, 10));
    assertEquals(assumed(START - 60 * SECOND - 10 * MS, START + SECOND), now(measured));
    assertEquals(List.of("no majority among a, this machine's clock"), measured.problems());
  }

  @Test
  void itGoesOnByTheMonotonicClockAndGetsWider() {
    MeasuredTime measured = asked(new Source("a", 0, 10));
    time.advanceMs(40);
    // 500 parts in a million of 40 ms
    assertEquals(measured(START + 30 * MS - 20_000, START + 50 * MS + 20_000), now(measured));
    time.advanceMs(1_000_000 - 40);
    long now = START + 1_000 * SECOND;
    assertEquals(measured(now - 510 * MS, now + 510 * MS), now(measured));
    measured.refresh();
    assertEquals(measured(now - 10 * MS, now + 10 * MS), now(measured));
  }

  @Test
  void afterAClockWasSetAMeasurementSaysNothingUntilTheNext() {
    MeasuredTime measured = asked(new Source("a", 0, 10));
    time.advanceMs(100);
    time.stepWallMs(3_600_000);
    long wall = time.wallNanos();
    assertEquals(assumed(wall - SECOND, wall + SECOND), now(measured));
    measured.refresh();
    assertEquals(measured(wall - 10 * MS, wall + 10 * MS), now(measured));
    time.advanceMs(100);
    time.stepWallMs(-500); // as NTP does: not enough to make a measurement worthless
    assertEquals(measured(wall + 90 * MS - 50_000, wall + 110 * MS + 50_000), now(measured));
  }

  @Test
  void theLastAnswerOfASourceThatFallsSilentCounts() {
    var source = new Source("a", 0, 10);
    MeasuredTime measured = asked(source);
    source.silence = "gone";
    measured.refresh();
    assertEquals(Kind.MEASURED, now(measured).kind());
    assertEquals(List.of("a: gone"), measured.problems());
  }
}
