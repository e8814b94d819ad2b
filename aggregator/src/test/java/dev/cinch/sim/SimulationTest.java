package dev.cinch.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Share;
import dev.cinch.lease.sim.Counts;
import dev.cinch.lease.sim.SeedCampaign;
import dev.cinch.sim.fs.FaultKind;
import dev.cinch.sim.fs.FsKind;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Some hundred worlds in a build, 20,000 in {@code .ci/thorough}, and a quarter as many whose store
 * is in an object store. {@code -Dcinch.sim.runs=N} makes it more, {@code -Dcinch.sim.from=SEED}
 * others, {@code -Dcinch.sim.runs=1} with it one alone.
 */
class SimulationTest {
  private static final long RUNS = Long.getLong("cinch.sim.runs", Share.of(20_000, 150));
  private static final long FROM = Long.getLong("cinch.sim.from", Share.from());

  private static final Set<FaultKind> OF_OBJECTS =
      EnumSet.range(FaultKind.OBJECT_REQUEST_LOST, FaultKind.OBJECT_AWAY);

  @Test
  @Tag("share")
  void noMessageIsLostDoubledOrReordered() {
    Counts s = run(List.of(), RUNS);
    if (RUNS >= 1_000) {
      assertTrue(s.of("committed") > RUNS, "both outcomes happen: " + s);
      assertTrue(s.of("rejected") > RUNS / 20, "both outcomes happen: " + s);
      assertTrue(s.of("after a fence") > RUNS / 100, "leases are taken over: " + s);
      assertTrue(s.of("resumed") > RUNS / 100, "leases are resumed: " + s);
      assertTrue(s.of("last words") > RUNS / 100, "restarts are planned: " + s);
      assertTrue(s.of("segments expired") > RUNS / 100, "messages expire: " + s);
      assertTrue(s.of("logs ended") > RUNS / 100, "logs end: " + s);
      strike(s, EnumSet.complementOf(EnumSet.copyOf(OF_OBJECTS)));
    }
  }

  @Test
  @Tag("share")
  void norIsItInAnObjectStore() {
    Counts s = run(List.of(FsKind.OBJECTS.name()), (RUNS + 3) / 4);
    if (RUNS >= 4_000) {
      assertTrue(s.of("committed") > RUNS / 4, "both outcomes happen: " + s);
      assertTrue(s.of("rejected") > RUNS / 80, "both outcomes happen: " + s);
      strike(s, OF_OBJECTS);
    }
  }

  private static Counts run(List<String> traits, long runs) {
    SeedCampaign campaign = Campaign.among(traits);
    campaign.run(FROM, runs);
    if (!campaign.failures().isEmpty()) {
      var text = new ByteArrayOutputStream();
      try (var out = new PrintStream(text, true, StandardCharsets.UTF_8)) {
        Campaign.explain(Campaign.draw(campaign.failures().firstKey(), traits), true, out);
      }
      throw new AssertionError(campaign.failures() + "\n" + text.toString(StandardCharsets.UTF_8));
    }
    assertEquals(runs, campaign.counts().of("worlds"));
    return campaign.counts();
  }

  private static void strike(Counts s, Set<FaultKind> kinds) {
    for (FaultKind kind : kinds) {
      assertTrue(s.of(kind.name()) > 0 || isProperty(kind), kind + " strikes: " + s);
    }
  }

  /** Sessions, closers and audit with services that keep their leases in a register (L17). */
  @Test
  @Tag("share")
  void leasesOfARegisterFenceAsWell() {
    try (var bench = new Workbench(true)) {
      int resumed = 0;
      int fenced = 0;
      for (long seed = FROM; seed < FROM + RUNS / 4; seed++) {
        Plan plan = Plan.draw(seed);
        if (plan.leased()) {
          Outcome outcome = Simulation.run(plan, bench);
          assertEquals(List.of(), outcome.violations(), "seed " + seed);
          resumed += (int) outcome.counts().of("resumed");
          fenced += (int) outcome.counts().of("after a fence");
        }
      }
      assertTrue(fenced > RUNS / 400, fenced + " fences, " + resumed + " resumed");
    }
  }

  private static boolean isProperty(FaultKind kind) {
    return kind == FaultKind.ATTRIBUTES_CACHED || kind == FaultKind.LISTINGS_CACHED;
  }

  @Test
  @Tag("share")
  void oneSeedIsOneRun() {
    for (long seed = 1; seed <= Share.of(60, 4); seed++) {
      assertEquals(Simulation.run(seed).hash(), Simulation.run(seed).hash(), "seed " + seed);
      Plan plan = Plan.draw(seed).onObjects();
      try (var bench = new Workbench()) {
        assertEquals(
            Simulation.run(plan, bench).hash(), Simulation.run(plan, bench).hash(), plan::toString);
      }
    }
  }
}
