package dev.cinch.bag;

import java.io.IOException;

/** There is no store, or no log, where one was named. The message is one line for the user. */
public class NotAStoreException extends IOException {
  private static final long serialVersionUID = 1;

  private final boolean lost;

  /**
   * @param message one line: what is not there, and where
   */
  public NotAStoreException(String message) {
    this(message, false);
  }

  NotAStoreException(String message, boolean lost) {
    super(message);
    this.lost = lost;
  }

  /** Whether there was one, which has lost the file that says what it is. */
  public boolean lost() {
    return lost;
  }
}
