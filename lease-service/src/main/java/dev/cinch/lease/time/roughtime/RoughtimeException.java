package dev.cinch.lease.time.roughtime;

/** Bytes that are not what they should be, or not signed by whom. The message is one short line. */
public final class RoughtimeException extends Exception {
  private static final long serialVersionUID = 1;

  public RoughtimeException(String message) {
    super(message);
  }
}
