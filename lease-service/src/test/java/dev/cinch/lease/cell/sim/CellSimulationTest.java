package dev.cinch.lease.cell.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Share;
import dev.cinch.lease.sim.SeedCampaign;
import java.util.Map;
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

  @Test
  void oneSeedIsOneRun() {
    assertEquals(happened(), happened());
  }

  private static String happened() {
    SeedCampaign campaign = CellCampaign.of(Algorithm.FLEASE);
    campaign.run(1, 5);
    return campaign.counts().toString();
  }

  private static void run(Algorithm algorithm) {
    SeedCampaign campaign = CellCampaign.of(algorithm);
    campaign.run(FROM, WORLDS);
    assertEquals(Map.of(), campaign.failures());
    assertTrue(campaign.counts().of("leases") >= WORLDS, campaign.counts().toString());
  }
}
