package dev.cinch.bag;

/**
 * There is no cut of that number, or what was asked of it can't be read any more. The message is
 * one line for the user.
 */
public final class NoSuchCutException extends NotAStoreException {
  private static final long serialVersionUID = 1;

  NoSuchCutException(String message) {
    super(message);
  }
}
