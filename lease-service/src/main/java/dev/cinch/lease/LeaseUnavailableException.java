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
}
