package dev.cinch.sim;

import dev.cinch.lease.sim.Broken;
import dev.cinch.lease.sim.Counts;
import dev.cinch.lease.sim.SeedCampaign;
import dev.cinch.sim.fs.FsKind;
import java.io.PrintStream;
import java.util.List;

/**
 * Runs many seeds on all cores.
 *
 * <p>{@code Campaign FROM COUNT [--seconds N] [--threads N] [--trace] [--brief] [--among
 * TRAIT,...]}: seeds from {@code FROM} on; {@code --trace} prints the whole trace of each failing
 * seed, {@code --brief} leaves out looking for smaller worlds, {@code --among} passes over worlds
 * that lack any of these traits. With {@code --among OBJECTS} all worlds have their store in an
 * object store; without, none has. Exits with 1 if a rule was broken.
 */
public final class Campaign implements SeedCampaign.Bench {
  private final Workbench bench = new Workbench();
  private final List<String> traits;

  private Campaign(List<String> traits) {
    this.traits = traits;
  }

  /**
   * @param traits of the worlds to run, as in {@link Plan#has}; the others are passed over
   */
  static SeedCampaign among(List<String> traits) {
    if (!Plan.traits().containsAll(traits)) {
      throw new IllegalArgumentException(traits + " are not all of " + Plan.traits());
    }
    return new SeedCampaign(() -> new Campaign(traits));
  }

  @Override
  public boolean run(long seed, Counts counts) {
    Plan plan = draw(seed, traits);
    if (!traits.stream().allMatch(plan::has)) {
      return false;
    }
    Outcome outcome = Simulation.run(plan, bench);
    counts.add(outcome.counts());
    if (!outcome.passed()) {
      throw new Broken(String.join("\n  ", outcome.violations()));
    }
    return true;
  }

  @Override
  public void close() {
    bench.close();
  }

  /** The world of a seed; that of an object store if this is among its traits. */
  static Plan draw(long seed, List<String> traits) {
    Plan plan = Plan.draw(seed);
    return traits.contains(FsKind.OBJECTS.name()) ? plan.onObjects() : plan;
  }

  /** In how small a world it still fails. */
  static void explain(Plan failing, boolean whole, PrintStream out) {
    try (var bench = new Workbench()) {
      Plan smaller = new Shrinker(bench).shrink(failing);
      Outcome again = Simulation.run(smaller, bench);
      out.println("  smaller: " + smaller);
      again.violations().forEach(v -> out.println("  smaller: " + v));
      if (whole) {
        again.trace().forEach(out::println);
      }
    }
  }

  /**
   * For callers that loaded this class by name: {@link SeedCampaign#search} among worlds that have
   * these traits.
   */
  public static long runsUntilFailure(List<String> traits, long most) {
    return among(traits).search(most);
  }

  public static void main(String[] args) {
    long from = args.length > 0 ? Long.parseLong(args[0]) : 1;
    long count = args.length > 1 ? Long.parseLong(args[1]) : 10_000;
    long seconds = 1_000_000;
    int threads = Runtime.getRuntime().availableProcessors();
    boolean trace = false;
    boolean brief = false;
    List<String> traits = List.of();
    for (int i = 2; i < args.length; i++) {
      switch (args[i]) {
        case "--seconds" -> seconds = Long.parseLong(args[++i]);
        case "--threads" -> threads = Integer.parseInt(args[++i]);
        case "--trace" -> trace = true;
        case "--brief" -> brief = true;
        case "--among" -> traits = List.of(args[++i].split(","));
        default -> throw new IllegalArgumentException(args[i] + "?");
      }
    }
    SeedCampaign campaign = among(traits);
    campaign.run(from, count, seconds * 1_000_000_000L, threads);
    boolean whole = trace;
    boolean shrink = !brief;
    List<String> all = traits;
    campaign.end(
        seed -> {
          if (shrink) {
            explain(draw(seed, all), whole, System.out);
          }
        });
  }
}
