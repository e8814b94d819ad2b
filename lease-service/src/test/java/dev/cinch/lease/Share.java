package dev.cinch.lease;

import java.util.List;
import java.util.stream.IntStream;

/**
 * Which cases of a long test run: a share in every build, the same ones each time unless {@code
 * -Dcinch.share=N} says which, and all of them with {@code -Dcinch.all=true}. {@code .ci/run} takes
 * N from the commit, so that builds together see more than one share. A test that uses it has
 * {@code @Tag("share")}: {@code .ci/thorough} runs those whole.
 */
public final class Share {
  public static final boolean ALL = Boolean.getBoolean("cinch.all");

  /** From 0 to 65,535. */
  private static final int WHICH = ALL ? 0 : Integer.getInteger("cinch.share", 0);

  private Share() {}

  /**
   * The step of a loop over all bytes, lengths or operations.
   *
   * @param every one case in so many; a prime, so that the steps meet all offsets within a field
   */
  public static int step(int every) {
    return ALL ? 1 : every;
  }

  /** How far from its begin a loop with such a step begins. */
  public static int first(int every) {
    return WHICH % step(every);
  }

  /** One case in so many, and at least one. */
  public static <T> List<T> some(List<T> all, int every) {
    int step = step(every);
    int first = all.isEmpty() ? 0 : WHICH % Math.min(step, all.size());
    return IntStream.range(0, all.size())
        .filter(i -> i % step == first)
        .mapToObj(all::get)
        .toList();
  }

  /** How many worlds, seeds or cases. */
  public static int of(int all, int some) {
    return ALL ? all : some;
  }

  /** The seed of the first world. */
  public static int from() {
    return 1 + WHICH;
  }
}
