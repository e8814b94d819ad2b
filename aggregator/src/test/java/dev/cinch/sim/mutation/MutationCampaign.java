package dev.cinch.sim.mutation;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;

/**
 * How many runs of the simulator it takes until each mutation is caught.
 *
 * <p>{@code MutationCampaign RUNS [--among TRAIT,...] [NAME...]}: at most so many runs each, for
 * the mutations named, or all; only of worlds that have all these traits (names of themes of
 * ambushes, kinds of faults, filesystems), passing over the others, if some are given. Run it in
 * {@code aggregator}. Prints a table; exits with 1 if one was not caught.
 */
public final class MutationCampaign {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  private MutationCampaign() {}

  /**
   * Runs seeds from 1 on until a rule is seen broken.
   *
   * @return how many it took, those passed over included; 0 if none of {@code most} did
   */
  private static long runsUntilCaught(Mutation mutation, List<String> traits, long most)
      throws IOException, ReflectiveOperationException {
    Class<?> campaign = Mutant.of(mutation, ROOT).loadClass("dev.cinch.sim.Campaign");
    try {
      return (long)
          campaign.getMethod("runsUntilFailure", List.class, long.class).invoke(null, traits, most);
    } catch (InvocationTargetException e) {
      throw new IllegalStateException("the simulator failed: " + e.getCause(), e);
    }
  }

  static List<Mutation> all() throws IOException {
    return Mutation.read(Path.of("src/test/resources/mutations.txt"));
  }

  public static void main(String[] args) throws Exception {
    long most = Long.parseLong(args[0]);
    boolean some = args.length > 2 && args[1].equals("--among");
    List<String> traits = some ? List.of(args[2].split(",")) : List.of();
    List<String> wanted = List.of(args).subList(some ? 3 : 1, args.length);
    List<Mutation> mutations =
        all().stream().filter(m -> wanted.isEmpty() || wanted.contains(m.name())).toList();
    var queue = new ArrayBlockingQueue<>(mutations.size(), false, mutations);
    var missed = new java.util.concurrent.atomic.AtomicInteger();
    var workers = new java.util.ArrayList<Thread>();
    for (int i = 0; i < Runtime.getRuntime().availableProcessors(); i++) {
      var worker = new Thread(() -> work(queue, traits, most, missed));
      worker.start();
      workers.add(worker);
    }
    for (Thread w : workers) {
      w.join();
    }
    System.exit(missed.get() == 0 ? 0 : 1);
  }

  private static void work(
      java.util.Queue<Mutation> queue,
      List<String> traits,
      long most,
      java.util.concurrent.atomic.AtomicInteger missed) {
    for (Mutation m = queue.poll(); m != null; m = queue.poll()) {
      String runs;
      try {
        long took = runsUntilCaught(m, traits, most);
        String among = traits.isEmpty() ? "" : " " + String.join(", ", traits);
        runs = (took == 0 ? "not in " + most : "" + took) + among;
        missed.addAndGet(took == 0 ? 1 : 0);
      } catch (IOException | ReflectiveOperationException | RuntimeException e) {
        runs = "failed: " + e;
        missed.incrementAndGet();
      }
      System.out.printf("| %s | %s | %s | %s |%n", m.name(), m.rule(), m.what(), runs);
    }
  }
}
