package dev.cinch.lease.register.sim;

import dev.cinch.lease.sim.Counts;
import dev.cinch.lease.sim.SeedCampaign;
import org.jspecify.annotations.Nullable;

/** Many simulated worlds of servers upon a cell: {@link SeedCampaign#main}. */
public final class RegisterCampaign implements SeedCampaign.Bench {
  private final boolean flease;
  private final Fibers fibers = new Fibers();

  private RegisterCampaign(boolean flease) {
    this.flease = flease;
  }

  static SeedCampaign of(String algorithm) {
    return new SeedCampaign(() -> new RegisterCampaign(algorithm.equals("FLEASE")));
  }

  @Override
  public boolean run(long seed, Counts counts) {
    var world = new World(flease, seed, fibers);
    try {
      counts.add("leases", world.run());
      counts.add("events", world.events);
    } finally {
      world.end();
    }
    return true;
  }

  @Override
  public void close() {
    fibers.close();
  }

  /** As {@link SeedCampaign#failure}. */
  public static @Nullable String failure(String algorithm, long most) {
    return of(algorithm).failure(most);
  }

  public static void main(String[] args) {
    of(args[0]).main(args);
  }
}
