package dev.cinch.bag;

/** The log that was named was removed on purpose. The message is one line for the user. */
public final class LogRemovedException extends NotAStoreException {
  private static final long serialVersionUID = 1;

  LogRemovedException(String message) {
    super(message);
  }
}
