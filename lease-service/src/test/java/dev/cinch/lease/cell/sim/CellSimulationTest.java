package dev.cinch.lease.cell.sim;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Simulated worlds of both algorithms. {@code -Dcinch.cell.worlds=N} runs N of each, and {@code
 * -Dcinch.cell.from=S} those from a seed on.
 */
final class CellSimulationTest {
  private static final boolean ALL = Boolean.getBoolean("cinch.all");
  private static final int WORLDS = Integer.getInteger("cinch.cell.worlds", ALL ? 100_000 : 1_000);
  private static final long FROM = Long.getLong("cinch.cell.from", 1);

  @Test
  @Tag("share")
  void paxosLeaseHasOneOwner() {
    run(Algorithm.PAXOS_LEASE);
  }

  private static void run(Algorithm algorithm) {
    long granted = 0;
    for (long seed = FROM; seed < FROM + WORLDS; seed++) {
      try {
        granted += new World(algorithm, seed).run();
      } catch (RuntimeException e) {
        throw new AssertionError(algorithm + ", seed " + seed + ": " + e.getMessage(), e);
      }
    }
    assertTrue(granted >= WORLDS, granted + " leases granted");
  }
}
