package dev.cinch.lease.register.sim;

import dev.cinch.lease.sim.SeedCampaign;
import org.jspecify.annotations.Nullable;

/** Many simulated worlds of servers upon a cell: {@link SeedCampaign#print}. */
public final class RegisterCampaign extends SeedCampaign {
  private final Fibers fibers = new Fibers();

  @Override
  protected void world(String algorithm, long seed) {
    var world = new World(algorithm.equals("FLEASE"), seed, fibers);
    try {
      granted += world.run();
    } finally {
      events += world.events;
      world.end();
    }
  }

  /** As {@link SeedCampaign#search}. */
  public static @Nullable String failure(String algorithm, long most) {
    return new RegisterCampaign().search(algorithm, most);
  }

  public static void main(String[] args) {
    new RegisterCampaign().print(args);
  }
}
