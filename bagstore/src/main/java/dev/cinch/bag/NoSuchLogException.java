package dev.cinch.bag;

/**
 * There is no log of that name in the store; one can be made. The message is one line for the user.
 */
public final class NoSuchLogException extends NotAStoreException {
  private static final long serialVersionUID = 1;

  NoSuchLogException(String message) {
    super(message);
  }
}
