package dev.cinch.bag.write;

import dev.cinch.bag.format.DamagedException;

/**
 * The store is damaged where the fate of a message stands, so that nobody can know it: it may be in
 * the log or not (rule A1). The writer takes no more messages.
 */
public final class FateUnknownException extends IllegalStateException {
  private static final long serialVersionUID = 1;

  private final DamagedException damage;

  private FateUnknownException(String message, DamagedException damage) {
    super(message, damage);
    this.damage = damage;
  }

  static FateUnknownException of(String log, DamagedException damage) {
    String message = "nobody can know what became of an append to log ";
    return new FateUnknownException(message + log + ": " + damage.getMessage(), damage);
  }

  /** The same, for another thread. */
  FateUnknownException again() {
    return new FateUnknownException(String.valueOf(getMessage()), damage);
  }
}
