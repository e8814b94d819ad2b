package dev.cinch.lease.cell.sim;

import dev.cinch.lease.sim.SeedCampaign;
import org.jspecify.annotations.Nullable;

/** Many simulated worlds of the machines of a cell: {@link SeedCampaign#main}. */
public final class CellCampaign {
  private CellCampaign() {}

  static SeedCampaign of(Algorithm algorithm) {
    return new SeedCampaign(
        () ->
            (seed, counts) -> {
              var world = new World(algorithm, seed);
              counts.add("leases", world.run());
              counts.add("events", world.events);
              return true;
            });
  }

  /** As {@link SeedCampaign#failure}. */
  public static @Nullable String failure(String algorithm, long most) {
    return of(Algorithm.valueOf(algorithm)).failure(most);
  }

  public static void main(String[] args) {
    of(Algorithm.valueOf(args[0])).main(args);
  }
}
