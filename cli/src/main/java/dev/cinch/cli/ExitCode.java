package dev.cinch.cli;

/** What {@code cinch} tells its caller when it ends; stable, and listed in {@code cinch --help}. */
final class ExitCode {
  /** All is well. */
  static final int GOOD = 0;

  /** Damage, a broken rule, or a failed probe was found. */
  static final int DAMAGE = 1;

  /** The command line itself is wrong; nothing was done. */
  static final int USAGE = 2;

  /** The answer is no: rejected, a lease not held, too early, a clock that is off. */
  static final int REFUSED = 3;

  /** Something needed can't be had: no store, no server, no permission, an I/O error. */
  static final int UNAVAILABLE = 4;

  private ExitCode() {}
}
