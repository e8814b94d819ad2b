package dev.cinch.lease.table;

/** Too few machines answered: what was asked for may have been done. */
public final class UnansweredException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /**
   * @param message one line
   */
  public UnansweredException(String message) {
    super(message);
  }
}
