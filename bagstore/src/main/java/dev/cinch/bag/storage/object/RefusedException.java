package dev.cinch.bag.storage.object;

import java.io.IOException;

/** An object store refused a request, and would refuse it again. It changed nothing. */
public final class RefusedException extends IOException {
  private static final long serialVersionUID = 1;

  public RefusedException(String message) {
    super(message);
  }
}
