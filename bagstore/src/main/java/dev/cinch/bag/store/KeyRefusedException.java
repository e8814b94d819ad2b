package dev.cinch.bag.store;

import java.io.IOException;

/** A key can't be added to a store as it was asked for. One line that says what to do. */
public final class KeyRefusedException extends IOException {
  private static final long serialVersionUID = 1;

  public KeyRefusedException(String message) {
    super(message);
  }
}
