package dev.cinch.lease;

/** The lease service answered, and the answer is no. The message is one line for the user. */
public class LeaseRefusedException extends Exception {
  /** Why; also the {@code error} of the HTTP API. */
  public enum Reason {
    /** Another holder has one of the names. Try again after {@link #retryAfterMs}. */
    HELD,
    /** The grant is unknown, expired, broken or released. Acquire anew. */
    NOT_HELD,
    /**
     * Another instance answers than the one that the holder goes by. Resume the leases there (rule
     * L10).
     */
    OTHER_INSTANCE,
    /**
     * It is the same instance, at another of its servers, which has not met the grant (rule L17).
     * Resume the leases there.
     */
    NOT_MET,
    /** Another server of the store has the name, or may have the grant (rule L16). Ask there. */
    OTHER_SHARD,
    /** The caller has no right to it; the message says which. Ask with a token that has. */
    FORBIDDEN,
    /** The request itself is wrong: a duration, a name, a count out of range. */
    INVALID,
    /**
     * The watermark is below the lease's lower bound, above its expiry, or too far from signed time
     * (rule L2).
     */
    WATERMARK,
    /**
     * The service was started anew and waits (rule L3), or its clock stepped back (rule L6). Try
     * again.
     */
    NOT_YET,
    /** A later instance of the service exists: this one has stopped for good (rules L3, L9). */
    SUPERSEDED
  }

  private static final long serialVersionUID = 1;

  private final Reason reason;
  private final long retryAfterMs;

  /**
   * @param retryAfterMs when it may be worth trying again, 0 if it never is
   */
  public LeaseRefusedException(Reason reason, String message, long retryAfterMs) {
    super(message);
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }

  public Reason reason() {
    return reason;
  }

  public long retryAfterMs() {
    return retryAfterMs;
  }

  /** Whether the leases can be resumed at the server that said so (rule L10). */
  public boolean asksToResume() {
    return reason == Reason.OTHER_INSTANCE || reason == Reason.NOT_MET;
  }

  /** Another holder has a name, and which: so that whoever waits knows for what. */
  public static final class LeaseHeldException extends LeaseRefusedException {

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
}
