package dev.cinch.lease;

/**
 * Which cases of a long test run: in every build a fixed share, the same ones each time; all of
 * them with {@code -Dcinch.all=true}, as continuous integration does. A test that uses it has
 * {@code @Tag("share")}: {@code .ci/thorough} runs those.
 */
public final class Share {
  public static final boolean ALL = Boolean.getBoolean("cinch.all");

  private Share() {}

  /**
   * The step of a loop over all bytes, lengths or operations.
   *
   * @param every one case in so many; a prime, so that the steps meet all offsets within a field
   */
  public static int step(int every) {
    return ALL ? 1 : every;
  }

  /** How many worlds, seeds or cases. */
  public static int of(int all, int some) {
    return ALL ? all : some;
  }
}
