package dev.cinch.lease.sim;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Many simulated worlds, one seed after the other, until some have failed. */
public final class SeedCampaign {
  private static final int MOST_FAILURES = 5;

  /** One world in so many is of a kind that is looked for, or none is. */
  private static final long RAREST = 1_000;

  /** Of an error's trace. */
  private static final int LINES = 16;

  /** Where worlds run one after another, on one thread. */
  public interface Bench extends AutoCloseable {
    /**
     * Runs the world of a seed and counts what happens in it; throws if a rule is broken.
     *
     * @return whether it is a world that is looked for; others are passed over
     */
    boolean run(long seed, Counts counts);

    @Override
    default void close() {}
  }

  private final Supplier<? extends Bench> benches;
  private final Counts counts = new Counts();
  private final SortedMap<Long, String> failures = new TreeMap<>();
  private double seconds;

  /**
   * @param benches makes one for each thread, on it
   */
  public SeedCampaign(Supplier<? extends Bench> benches) {
    this.benches = benches;
  }

  /** How many {@code worlds} there were, and what happened in them. */
  public Counts counts() {
    return counts;
  }

  /** What broke, by seed. */
  public SortedMap<Long, String> failures() {
    return failures;
  }

  /** Runs the worlds of so many seeds from one on, on all cores. */
  public void run(long from, long count) {
    run(from, count, Long.MAX_VALUE / 4, Runtime.getRuntime().availableProcessors());
  }

  /**
   * Likewise.
   *
   * @param nanos after which no further world is begun
   */
  public void run(long from, long count, long nanos, int threads) {
    long began = System.nanoTime();
    var next = new AtomicLong(from);
    var workers = new ArrayList<Thread>();
    for (int i = 0; i < threads; i++) {
      var worker =
          new Thread(
              () -> {
                try (Bench bench = benches.get()) {
                  while (System.nanoTime() - began < nanos && failed() < MOST_FAILURES) {
                    long seed = next.getAndIncrement();
                    if (seed >= from + count) {
                      return;
                    }
                    if (!passes(bench, seed)) {
                      System.err.println("seed " + seed + " failed"); // the rest may take an hour
                    }
                  }
                } catch (RuntimeException | Error e) {
                  ended(from, new Counts(), text(e)); // there is no bench
                }
              },
              "campaign-" + i);
      workers.add(worker);
      worker.start();
    }
    try {
      for (Thread w : workers) {
        w.join();
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    seconds = (System.nanoTime() - began) / 1e9;
  }

  private synchronized int failed() {
    return failures.size();
  }

  private boolean passes(Bench bench, long seed) {
    var one = new Counts();
    boolean ran = true;
    String failure = null;
    try {
      ran = bench.run(seed, one);
    } catch (Broken e) {
      failure = e.getMessage();
    } catch (RuntimeException | Error e) {
      failure = text(e);
    }
    if (ran) {
      ended(seed, one, failure);
    }
    return failure == null;
  }

  private synchronized void ended(long seed, Counts one, @Nullable String failure) {
    counts.add("worlds", 1);
    counts.add(one);
    if (failure != null) {
      failures.put(seed, failure);
    }
  }

  /** What failed, and where. */
  public static String text(Throwable e) {
    var out = new StringWriter();
    e.printStackTrace(new PrintWriter(out));
    return out.toString().lines().limit(LINES).collect(Collectors.joining("\n"));
  }

  /**
   * Looks for a world that fails, among seeds from 1 on.
   *
   * @param most worlds that run
   * @return its seed; 0 if none failed
   */
  public long search(long most) {
    try (Bench bench = benches.get()) {
      for (long seed = 1; counts.of("worlds") < most && seed / RAREST <= most; seed++) {
        if (!passes(bench, seed)) {
          return seed;
        }
      }
    }
    return 0;
  }

  /** As {@link #search}: the seed and what broke; null if none failed. */
  public @Nullable String failure(long most) {
    long seed = search(most);
    return seed == 0 ? null : seed + ": " + failures.get(seed);
  }

  /**
   * {@code PAXOS_LEASE|FLEASE FROM WORLDS}: the worlds of so many seeds from one on. Prints what
   * happened in them; exits with 1 if one failed.
   */
  public void main(String... args) {
    run(Long.parseLong(args[1]), Long.parseLong(args[2]));
    end(seed -> {});
  }

  /**
   * Prints what happened, and ends the program, with 1 if a world failed.
   *
   * @param explain tells more of a seed that failed
   */
  public void end(LongConsumer explain) {
    failures.forEach(
        (seed, what) -> {
          System.out.println("seed " + seed + ":\n  " + what);
          explain.accept(seed);
        });
    System.out.printf("%.0f worlds a second%n%s%n", counts.of("worlds") / seconds, counts);
    System.exit(failures.isEmpty() ? 0 : 1);
  }
}
