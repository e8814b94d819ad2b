package dev.cinch.lease.table;

/** Bytes that should be the state of a lease are not. The message is one line and says why. */
public final class MalformedLeaseStateException extends Exception {
  private static final long serialVersionUID = 1;

  MalformedLeaseStateException(String what) {
    super("malformed state of a lease: " + what);
  }
}
