package dev.cinch.lease;

/** Another holder has a name, and which: so that whoever waits knows for what. */
public final class LeaseHeldException extends LeaseRefusedException {
  private static final long serialVersionUID = 1;

  private final transient LeaseName name;

  /**
   * @param retryAfterMs when the lease ends unless it is prolonged, at least 1
   */
  public LeaseHeldException(LeaseName name, String message, long retryAfterMs) {
    super(Reason.HELD, message, retryAfterMs);
    this.name = name;
  }

  /** The name that is held. */
  public LeaseName name() {
    return name;
  }
}
