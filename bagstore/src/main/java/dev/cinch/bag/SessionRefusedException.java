package dev.cinch.bag;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * A witness that a session was given can't be relied on, so it holds nothing. The message is one
 * line for the user.
 */
public class SessionRefusedException extends IOException {
  private static final long serialVersionUID = 1;

  SessionRefusedException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
