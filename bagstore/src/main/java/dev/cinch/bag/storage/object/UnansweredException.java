package dev.cinch.bag.storage.object;

import java.io.IOException;

/**
 * An object store did not say what became of a request: it may have been carried out, or may be at
 * any later time. It was overloaded, failed, or could not be reached.
 */
public final class UnansweredException extends IOException {
  private static final long serialVersionUID = 1L;

  public UnansweredException(String message, Throwable cause) {
    super(message, cause);
  }

  public UnansweredException(String message) {
    super(message);
  }
}
