package dev.cinch.lease.register.sim;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Share;
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

  private static void run(String algorithm) {
    var campaign = new RegisterCampaign();
    campaign.run(algorithm, FROM, WORLDS);
    assertNull(campaign.failure);
    assertTrue(campaign.granted >= 5L * WORLDS, campaign.granted + " leases granted");
  }
}
