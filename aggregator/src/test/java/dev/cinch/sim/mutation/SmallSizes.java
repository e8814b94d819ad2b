package dev.cinch.sim.mutation;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * The simulator with sizes that its small worlds cross: a group of a thousand records, say, takes
 * more of them than any world has. Nothing may break by it.
 *
 * <p>{@code SmallSizes FROM COUNT [...]} has the arguments of {@code dev.cinch.sim.Campaign}. Run
 * it in {@code aggregator}.
 */
final class SmallSizes {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  private SmallSizes() {}

  /** The class {@code Campaign}, of classes of its own. */
  static Class<?> campaign() throws IOException, ClassNotFoundException {
    List<Mutation> all = Mutation.read(Path.of("src/test/resources/small-sizes.txt"));
    return Mutant.ofAll(all.get(0), ROOT).loadClass("dev.cinch.sim.Campaign");
  }

  public static void main(String[] args) throws Exception {
    campaign().getMethod("main", String[].class).invoke(null, (Object) args);
  }
}
