package dev.cinch.lease.cell.sim;

import dev.cinch.lease.sim.SeedCampaign;
import org.jspecify.annotations.Nullable;

/** Many simulated worlds of the machines of a cell: {@link SeedCampaign#print}. */
public final class CellCampaign extends SeedCampaign {
  @Override
  protected void world(String algorithm, long seed) {
    var world = new World(Algorithm.valueOf(algorithm), seed);
    granted += world.run();
    events += world.events;
  }

  /** As {@link SeedCampaign#search}. */
  public static @Nullable String failure(String algorithm, long most) {
    return new CellCampaign().search(algorithm, most);
  }

  public static void main(String[] args) {
    new CellCampaign().print(args);
  }
}
