package dev.cinch.lease.register.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Share;
import dev.cinch.lease.sim.SeedCampaign;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Simulated worlds of servers that keep the same leases at a cell. {@code
 * -Dcinch.register.worlds=N} runs N with each algorithm, and {@code -Dcinch.register.from=S} those
 * from a seed on.
 */
final class RegisterSimulationTest {
  private static final int WORLDS =
      Integer.getInteger("cinch.register.worlds", Share.of(20_000, 60));
  private static final long FROM = Long.getLong("cinch.register.from", Share.from());

  @Test
  @Tag("share")
  void leasesAtPaxosLeaseKeepTheirRules() {
    run("PAXOS_LEASE");
  }

  @Test
  @Tag("share")
  void leasesAtFleaseKeepTheirRules() {
    run("FLEASE");
  }

  @Test
  void oneSeedIsOneRun() {
    assertEquals(happened(), happened());
  }

  private static String happened() {
    SeedCampaign campaign = RegisterCampaign.of("FLEASE");
    campaign.run(1, 5);
    return campaign.counts().toString();
  }

  private static void run(String algorithm) {
    SeedCampaign campaign = RegisterCampaign.of(algorithm);
    campaign.run(FROM, WORLDS);
    assertEquals(Map.of(), campaign.failures());
    assertTrue(campaign.counts().of("leases") >= 5L * WORLDS, campaign.counts().toString());
  }
}
