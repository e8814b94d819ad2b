package dev.cinch.cli.base;

import org.jspecify.annotations.Nullable;

/** The command line is wrong: told in one line, which names the command's help. */
public final class Misuse extends RuntimeException {
  private static final long serialVersionUID = 1;

  public Misuse(String message) {
    this(message, null);
  }

  public Misuse(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
