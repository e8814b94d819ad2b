package dev.cinch.bag.storage.object;

import java.io.IOException;

/** An object store did not say what became of a request, which may be carried out yet. */
public final class UnansweredException extends IOException {
  private static final long serialVersionUID = 1;

  public UnansweredException(String message) {
    super(message);
  }

  public UnansweredException(String message, Throwable cause) {
    super(message, cause);
  }
}
