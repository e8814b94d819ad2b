package dev.cinch.lease.http;

/** A body is not what the API allows; the message is one line. */
final class WireException extends Exception {
  private static final long serialVersionUID = 1;

  WireException(String message) {
    super(message);
  }
}
