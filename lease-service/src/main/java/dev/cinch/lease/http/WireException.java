package dev.cinch.lease.http;

import dev.cinch.lease.OneLine;

/** A body is not what the API allows; the message is one line. */
final class WireException extends Exception {
  private static final long serialVersionUID = 1;
  private static final int MAX_MESSAGE = 400;

  private final String error;

  WireException(String message) {
    this(Answer.MALFORMED, message);
  }

  /**
   * @param error what the API calls it
   */
  WireException(String error, String message) {
    super(OneLine.of(message, MAX_MESSAGE));
    this.error = error;
  }

  String error() {
    return error;
  }
}
