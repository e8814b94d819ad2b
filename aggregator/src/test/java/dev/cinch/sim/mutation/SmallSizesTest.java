package dev.cinch.sim.mutation;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.cinch.lease.Share;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Some worlds with small sizes; {@code -Dcinch.sim.small=N} makes it more. */
class SmallSizesTest {
  private static final long RUNS = Long.getLong("cinch.sim.small", Share.of(1_000, 10));

  @Test
  @Tag("share")
  void nothingBreaksWhereEverySizeIsCrossed() throws Exception {
    long failed =
        (long)
            SmallSizes.campaign()
                .getMethod("runsUntilFailure", List.class, long.class)
                .invoke(null, List.of(), RUNS);
    assertEquals(0, failed, "SmallSizes " + failed + " 1 --trace tells more of this seed");
  }
}
