package dev.cinch.lease.wire;

import dev.cinch.lease.OneLine;

/** A body is not what the API allows; the message is one line. */
public final class WireException extends Exception {
  private static final long serialVersionUID = 1;
  private static final int MAX_MESSAGE = 400;

  private final String error;

  public WireException(String message) {
    this(Answer.MALFORMED, message);
  }

  /**
   * @param error what the API calls it
   */
  public WireException(String error, String message) {
    super(OneLine.of(message, MAX_MESSAGE));
    this.error = error;
  }

  public String error() {
    return error;
  }
}
