package dev.cinch.cli.base;

import java.util.List;

/** What {@code cinch} tells its caller when it ends; stable, and listed in {@code cinch --help}. */
public final class ExitCode {
  /** All is well. */
  public static final int GOOD = 0;

  /** Damage, a broken rule, or a failed probe was found. */
  public static final int DAMAGE = 1;

  /** The command line itself is wrong; nothing was done. */
  public static final int USAGE = 2;

  /** The answer is no: rejected, a lease not held, too early, a clock that is off. */
  public static final int REFUSED = 3;

  /** Something needed can't be had: no store, no server, no permission, an I/O error. */
  public static final int UNAVAILABLE = 4;

  /** Of several things that were found: damage, else what can't be had, else a refusal. */
  public static int worse(int one, int other) {
    List<Integer> order = List.of(GOOD, REFUSED, UNAVAILABLE, USAGE, DAMAGE);
    return order.indexOf(one) >= order.indexOf(other) ? one : other;
  }

  private ExitCode() {}
}
