package dev.cinch.lease.sim;

import org.jspecify.annotations.Nullable;

/** Many simulated worlds of an algorithm, one seed after the other, until one fails. */
public abstract class SeedCampaign {
  private static final long REPORT = 10_000;

  public long worlds;
  public long granted;
  public long events;

  /** What the last world ended in, if it failed. */
  public @Nullable String failure;

  /** Runs the world of a seed, and counts the leases and events in it. */
  protected abstract void world(String algorithm, long seed);

  /** Runs worlds up to the first that fails. */
  public final void run(String algorithm, long from, long most) {
    for (long seed = from; seed < from + most && failure == null; seed++) {
      worlds++;
      try {
        world(algorithm, seed);
      } catch (RuntimeException e) {
        failure = algorithm + ", seed " + seed + ": " + e;
        if (Boolean.getBoolean("cinch.cell.trace")) {
          e.printStackTrace();
        }
      }
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
  protected final @Nullable String search(String algorithm, long most) {
    run(algorithm, 1, most);
    return failure == null ? null : worlds + ": " + failure;
  }

  /**
   * {@code PAXOS_LEASE|FLEASE FROM WORLDS}: the worlds of so many seeds from one on. Prints how
   * many there were, with how many leases and events; exits with 1 if one failed.
   */
  protected final void print(String... args) {
    run(args[0], Long.parseLong(args[1]), Long.parseLong(args[2]));
    System.out.println(args[0] + " from " + args[1] + ": " + this);
    System.exit(failure == null ? 0 : 1);
  }

  @Override
  public final String toString() {
    return worlds + " worlds, " + granted + " leases, " + events + " events, failed: " + failure;
  }
}
