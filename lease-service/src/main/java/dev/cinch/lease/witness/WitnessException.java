package dev.cinch.lease.witness;

/** Bytes that should be a trusted witness are not. The message is one line and says why. */
public final class WitnessException extends Exception {
  /** Why. */
  public enum Reason {
    /** The bytes are not the one encoding of a witness. */
    MALFORMED,
    /** Signed with a key that is not trusted, or not among the first so many. */
    UNKNOWN_KEY,
    /** The key is trusted, the signature is not by it. */
    BAD_SIGNATURE
  }

  private static final long serialVersionUID = 1;

  private final Reason reason;

  public WitnessException(Reason reason, String message) {
    super(message);
    this.reason = reason;
  }

  static WitnessException malformed(String what) {
    return new WitnessException(Reason.MALFORMED, "malformed witness: " + what);
  }

  public Reason reason() {
    return reason;
  }
}
