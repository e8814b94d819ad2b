package dev.cinch.sim;

import dev.cinch.sim.Outcome.Statistics;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Runs many seeds on all cores.
 *
 * <p>{@code Campaign FROM COUNT [--seconds N] [--threads N] [--trace] [--brief] [--among
 * TRAIT,...]}: seeds from {@code FROM} on; {@code --trace} prints the whole trace of each failing
 * seed, {@code --brief} leaves out looking for smaller worlds, {@code --among} passes over worlds
 * that lack any of these traits. Exits with 1 if a rule was broken.
 */
public final class Campaign {
  private static final int MOST_FAILURES = 5;

  /** One world in so many has the traits that are asked for, or none has. */
  private static final long RAREST = 1_000;

  private final long from;
  private final long count;
  private final long deadline;
  private final int threads;
  private final List<String> traits;
  private final AtomicLong next;
  private final List<Outcome> failures = new ArrayList<>();
  private Statistics statistics = Statistics.NONE;

  /**
   * @param nanos after which no further seed is begun
   */
  Campaign(long from, long count, long nanos, int threads) {
    this(from, count, nanos, threads, List.of());
  }

  private Campaign(long from, long count, long nanos, int threads, List<String> traits) {
    this.traits = traits;
    this.from = from;
    this.count = count;
    this.deadline = System.nanoTime() + nanos;
    this.threads = threads;
    this.next = new AtomicLong(from);
  }

  /** Runs until all seeds are done, time is over, or some have failed. */
  void run() throws InterruptedException {
    var workers = new ArrayList<Thread>();
    for (int i = 0; i < threads; i++) {
      var worker = new Thread(this::work, "campaign-" + i);
      workers.add(worker);
      worker.start();
    }
    for (Thread w : workers) {
      w.join();
    }
  }

  private void work() {
    try (var bench = new Workbench()) {
      while (System.nanoTime() - deadline < 0 && failureCount() < MOST_FAILURES) {
        long seed = next.getAndIncrement();
        if (seed >= from + count) {
          return;
        }
        if (fits(seed, traits)) {
          add(run(seed, bench));
        }
      }
    }
  }

  private static Outcome run(long seed, Workbench bench) {
    try {
      return Simulation.run(Plan.draw(seed), bench);
    } catch (RuntimeException | Error e) {
      return new Outcome(
          seed, List.of("the simulator failed: " + e), 0, Statistics.NONE, List.of());
    }
  }

  private synchronized int failureCount() {
    return failures.size();
  }

  private synchronized void add(Outcome outcome) {
    statistics = statistics.plus(outcome.statistics());
    if (!outcome.passed()) {
      failures.add(outcome);
      System.err.println("seed " + outcome.seed() + " failed"); // the rest may take an hour
    }
  }

  synchronized List<Outcome> failures() {
    return List.copyOf(failures);
  }

  synchronized Statistics statistics() {
    return statistics;
  }

  /** What failed, and in how small a world it still fails. */
  static void explain(Outcome failure, boolean shrink, boolean whole, PrintStream out) {
    out.println("seed " + failure.seed() + ":");
    failure.violations().forEach(v -> out.println("  " + v));
    if (!shrink) {
      return;
    }
    try (var bench = new Workbench()) {
      Plan smaller = new Shrinker(bench).shrink(Plan.draw(failure.seed()));
      Outcome again = Simulation.run(smaller, bench);
      out.println("  smaller: " + smaller);
      again.violations().forEach(v -> out.println("  smaller: " + v));
      if (whole) {
        again.trace().forEach(out::println);
      }
    }
  }

  /**
   * For callers that loaded this class by name.
   *
   * @param traits of the worlds to run, as in {@link Plan#has}; the others are passed over
   * @param most worlds to run
   * @return how many seeds it took until a rule was seen broken; 0 if none was
   */
  public static long runsUntilFailure(List<String> traits, long most) {
    checkTraits(traits);
    long left = most;
    try (var bench = new Workbench()) {
      for (long seed = 1; left > 0 && seed / RAREST <= most; seed++) {
        if (fits(seed, traits)) {
          left--;
          if (!run(seed, bench).passed()) {
            return seed;
          }
        }
      }
    }
    return 0;
  }

  private static void checkTraits(List<String> traits) {
    if (!Plan.traits().containsAll(traits)) {
      throw new IllegalArgumentException(traits + " are not all of " + Plan.traits());
    }
  }

  private static boolean fits(long seed, List<String> traits) {
    return traits.isEmpty() || traits.stream().allMatch(Plan.draw(seed)::has);
  }

  public static void main(String[] args) throws InterruptedException {
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
    checkTraits(traits);
    var campaign = new Campaign(from, count, seconds * 1_000_000_000L, threads, traits);
    long began = System.nanoTime();
    campaign.run();
    double took = (System.nanoTime() - began) / 1e9;
    for (Outcome failure : campaign.failures()) {
      explain(failure, !brief, trace, System.out);
    }
    Statistics s = campaign.statistics();
    System.out.printf("%.0f runs a second%n", s.runs() / took);
    System.out.println(s);
    System.exit(campaign.failures().isEmpty() ? 0 : 1);
  }
}
