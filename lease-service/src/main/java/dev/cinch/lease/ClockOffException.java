package dev.cinch.lease;

import java.io.IOException;

/**
 * This machine's clock is further from the one that the store's users go by than is allowed. What
 * that one shows is known, other than where it can't be asked.
 */
public class ClockOffException extends IOException {
  private static final long serialVersionUID = 1;

  /**
   * @param message by how much, in one line, and what to do
   */
  public ClockOffException(String message) {
    super(message);
  }
}
