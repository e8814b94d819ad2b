package dev.cinch.lease.soak;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** What counts as flat. */
final class FlatnessTest {
  private static final Flatness FLATNESS = new Flatness("bytes", 10);

  private static Optional<String> objection(long... samples) {
    return FLATNESS.objection(LongStream.of(samples).boxed().toList());
  }

  @Test
  void growthAtTheBeginningIsNone() {
    assertEquals(Optional.empty(), objection(0, 50, 100, 200, 200, 200, 200, 200, 200));
  }

  @Test
  void aTwentiethAndTheConstantAreAllowed() {
    assertEquals(Optional.empty(), objection(0, 200, 220));
    assertEquals(Optional.of("bytes grew from 200 to 221"), objection(0, 200, 221));
  }

  @Test
  void oneSampleThatIsHighIsNoGrowth() {
    assertEquals(Optional.empty(), objection(0, 0, 0, 200, 200, 200, 200, 200, 900));
  }

  @Test
  void lessIsFlat() {
    assertEquals(Optional.empty(), objection(0, 200, 100));
  }

  @Test
  void tooFewProveNothing() {
    assertEquals(Optional.of("bytes: 2 samples are too few"), FLATNESS.objection(List.of(1L, 1L)));
  }
}
