package dev.cinch.lease;

import org.jspecify.annotations.Nullable;

/**
 * No answer came from the lease service; whether it acted is unknown. The message is one line for
 * the user.
 */
public class LeaseUnavailableException extends Exception {
  private static final long serialVersionUID = 1;

  public LeaseUnavailableException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }

  /**
   * A release was sent to nobody: the server that it was meant for is gone, and another one of the
   * service goes on. There the leases are to be resumed first (rule L13).
   */
  public static class LeaseNotSentException extends LeaseUnavailableException {

    public LeaseNotSentException(String message, Throwable cause) {
      super(message, cause);
    }
  }
}
