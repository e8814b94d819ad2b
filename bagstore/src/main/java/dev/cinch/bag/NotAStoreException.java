package dev.cinch.bag;

import java.io.IOException;

/** There is no store, or no log, where one was named. The message is one line for the user. */
public class NotAStoreException extends IOException {
  private static final long serialVersionUID = 1;

  NotAStoreException(String message) {
    super(message);
  }
}
