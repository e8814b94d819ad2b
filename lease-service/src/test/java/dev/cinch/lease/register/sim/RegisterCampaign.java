package dev.cinch.lease.register.sim;

import org.jspecify.annotations.Nullable;

/**
 * Many simulated worlds of servers upon a cell, until one fails.
 *
 * <p>{@code RegisterCampaign PAXOS_LEASE|FLEASE FROM WORLDS}: the worlds of so many seeds from one
 * on. Prints how many there were, with how many leases and events; exits with 1 if one failed.
 */
public final class RegisterCampaign {
  private static final long REPORT = 10_000;

  long worlds;
  long granted;
  long events;

  /** What the last world ended in, if it failed. */
  @Nullable String failure;

  /** Runs worlds up to the first that fails. */
  void run(String algorithm, long from, long most) {
    var fibers = new Fibers();
    for (long seed = from; seed < from + most && failure == null; seed++) {
      worlds++;
      var world = new World(algorithm.equals("FLEASE"), seed, fibers);
      try {
        granted += world.run();
      } catch (RuntimeException e) {
        failure = algorithm + ", seed " + seed + ": " + e;
        if (Boolean.getBoolean("cinch.cell.trace")) {
          e.printStackTrace();
        }
      }
      events += world.events;
      world.end();
      if (worlds % REPORT == 0) {
        System.out.println(algorithm + " " + this);
      }
    }
  }

  /**
   * Looks for a world that fails, among seeds from 1 on.
   *
   * @return how many worlds it took, and the failure; null if none of so many did
   */
  public static @Nullable String failure(String algorithm, long most) {
    var campaign = new RegisterCampaign();
    campaign.run(algorithm, 1, most);
    return campaign.failure == null ? null : campaign.worlds + ": " + campaign.failure;
  }

  public static void main(String[] args) {
    var campaign = new RegisterCampaign();
    campaign.run(args[0], Long.parseLong(args[1]), Long.parseLong(args[2]));
    System.out.println(args[0] + " from " + args[1] + ": " + campaign);
    System.exit(campaign.failure == null ? 0 : 1);
  }

  @Override
  public String toString() {
    return worlds + " worlds, " + granted + " leases, " + events + " events, failed: " + failure;
  }
}
