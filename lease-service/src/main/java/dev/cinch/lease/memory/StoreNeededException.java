package dev.cinch.lease.memory;

/** An operation can't be carried out without asking the store; nothing was changed. */
final class StoreNeededException extends Exception {
  private static final long serialVersionUID = 1;

  /** Without a stack: it is no error, and nobody looks at where it came from. */
  StoreNeededException() {
    super("the store is needed", null, false, false);
  }
}
