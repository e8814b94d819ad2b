package dev.cinch.sim.mutation;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;

/**
 * How many runs of the simulator it takes until each mutation is caught.
 *
 * <p>{@code MutationCampaign RUNS [NAME...]}: at most so many runs each, for the mutations named,
 * or all. Run it in {@code aggregator}. Prints a table; exits with 1 if one was not caught.
 */
public final class MutationCampaign {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  private MutationCampaign() {}

  /**
   * Runs seeds from 1 on until a rule is seen broken.
   *
   * @return how many it took; 0 if none of {@code most} did
   */
  static long runsUntilCaught(Mutation mutation, long most)
      throws IOException, ReflectiveOperationException {
    Class<?> campaign = Mutant.of(mutation, ROOT).loadClass("dev.cinch.sim.Campaign");
    try {
      return (long)
          campaign.getMethod("runsUntilFailure", long.class, long.class).invoke(null, 1L, most);
    } catch (InvocationTargetException e) {
      throw new IllegalStateException(mutation.name() + " broke the simulator", e.getCause());
    }
  }

  static List<Mutation> all() throws IOException {
    return Mutation.read(Path.of("src/test/resources/mutations.txt"));
  }

  public static void main(String[] args) throws Exception {
    long most = Long.parseLong(args[0]);
    List<String> wanted = List.of(args).subList(1, args.length);
    List<Mutation> mutations =
        all().stream().filter(m -> wanted.isEmpty() || wanted.contains(m.name())).toList();
    var queue = new ArrayBlockingQueue<>(mutations.size(), false, mutations);
    var missed = new java.util.concurrent.atomic.AtomicInteger();
    var workers = new java.util.ArrayList<Thread>();
    for (int i = 0; i < Runtime.getRuntime().availableProcessors(); i++) {
      var worker = new Thread(() -> work(queue, most, missed));
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
      long most,
      java.util.concurrent.atomic.AtomicInteger missed) {
    for (Mutation m = queue.poll(); m != null; m = queue.poll()) {
      String runs;
      try {
        long took = runsUntilCaught(m, most);
        runs = took == 0 ? "not in " + most : "" + took;
        missed.addAndGet(took == 0 ? 1 : 0);
      } catch (IOException | ReflectiveOperationException | RuntimeException e) {
        runs = "failed: " + e;
        missed.incrementAndGet();
      }
      System.out.printf("| %s | %s | %s | %s |%n", m.name(), m.rule(), m.what(), runs);
    }
  }
}
