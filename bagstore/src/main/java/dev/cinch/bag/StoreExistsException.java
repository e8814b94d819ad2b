package dev.cinch.bag;

import java.io.IOException;

/**
 * A store can't be made here, since something stands here already; nothing was changed. The message
 * is one line for the user.
 */
public class StoreExistsException extends IOException {
  private static final long serialVersionUID = 1;

  StoreExistsException(String message) {
    super(message);
  }
}
