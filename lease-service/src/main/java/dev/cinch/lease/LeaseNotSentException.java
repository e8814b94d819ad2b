package dev.cinch.lease;

/**
 * A release was sent to nobody: the server that it was meant for is gone, and another one of the
 * service goes on. There the leases are to be resumed first (rule L13).
 */
public class LeaseNotSentException extends LeaseUnavailableException {
  private static final long serialVersionUID = 1;

  public LeaseNotSentException(String message, Throwable cause) {
    super(message, cause);
  }
}
