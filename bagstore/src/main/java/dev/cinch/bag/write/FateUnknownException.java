package dev.cinch.bag.write;

import java.io.IOException;

/**
 * The store is damaged where the fate of a message stands, so that nobody can know it; or its
 * writer gave up before it was known ({@link LogWriter#giveUp}). The message may be in the log or
 * not (rule A1). The writer takes no more messages.
 */
public final class FateUnknownException extends IllegalStateException {
  private static final long serialVersionUID = 1;

  private final IOException why;

  private FateUnknownException(String message, IOException why) {
    super(message, why);
    this.why = why;
  }

  static FateUnknownException of(String log, IOException why) {
    String message = "nobody can know what became of an append to log ";
    return new FateUnknownException(message + log + ": " + why.getMessage(), why);
  }

  /** Nobody waits for it any more. */
  static FateUnknownException gaveUp(String log, String why) {
    return new FateUnknownException(
        "an append to log " + log + " may be there or not: " + why, new IOException(why));
  }

  /** The same, for another thread. */
  FateUnknownException again() {
    return new FateUnknownException(String.valueOf(getMessage()), why);
  }
}
