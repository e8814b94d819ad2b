package dev.cinch.lease.cell.net;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Share;
import dev.cinch.lease.cell.Algorithm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Cells with a network that loses, doubles and reorders, and nodes that start again. */
final class CellLoopTest {
  private static final int CELLS = Integer.getInteger("cinch.cell.nets", Share.of(300, 20));
  private static final int STEPS = 2_000;

  @Test
  @Tag("share")
  void aNameHasOneOwnerWhateverTheNetworkDoes() {
    run(FaultyCell.PAXOS_LEASE);
  }

  @Test
  @Tag("share")
  void aNameHasOneOwnerWhateverTheNetworkAndClocksWithinTheirErrorDo() {
    run(FaultyCell.FLEASE);
  }

  private static void run(Algorithm algorithm) {
    int granted = 0;
    int renewed = 0;
    int released = 0;
    for (long seed = 1; seed <= CELLS; seed++) {
      var cell = new FaultyCell(algorithm, seed);
      try {
        cell.run(STEPS);
        cell.calm();
      } catch (AssertionError e) {
        throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
      }
      granted += cell.granted;
      renewed += cell.renewed;
      released += cell.released;
    }
    String happened = "%d granted, %d renewed, %d released".formatted(granted, renewed, released);
    assertTrue(granted > 5 * CELLS && renewed > CELLS && released > CELLS, happened);
  }
}
