package dev.cinch.cli;

import org.jspecify.annotations.Nullable;

/** The command line is wrong: told in one line, which names the command's help. */
final class Misuse extends RuntimeException {
  private static final long serialVersionUID = 1;

  Misuse(String message) {
    this(message, null);
  }

  Misuse(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
