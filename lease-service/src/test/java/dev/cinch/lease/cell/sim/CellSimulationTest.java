package dev.cinch.lease.cell.sim;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Share;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Simulated worlds of both algorithms. {@code -Dcinch.cell.worlds=N} runs N of each, and {@code
 * -Dcinch.cell.from=S} those from a seed on.
 */
final class CellSimulationTest {
  private static final int WORLDS = Integer.getInteger("cinch.cell.worlds", Share.of(20_000, 200));
  private static final long FROM = Long.getLong("cinch.cell.from", Share.from());

  @Test
  @Tag("share")
  void paxosLeaseHasOneOwner() {
    run(Algorithm.PAXOS_LEASE);
  }

  @Test
  @Tag("share")
  void fleaseHasOneOwner() {
    run(Algorithm.FLEASE);
  }

  private static void run(Algorithm algorithm) {
    var campaign = new CellCampaign();
    campaign.run(algorithm.name(), FROM, WORLDS);
    assertNull(campaign.failure);
    assertTrue(campaign.granted >= WORLDS, campaign.granted + " leases granted");
  }
}
