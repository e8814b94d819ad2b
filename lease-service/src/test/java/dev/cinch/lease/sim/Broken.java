package dev.cinch.lease.sim;

/** What must never happen did. */
public final class Broken extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public Broken(String what) {
    super(what);
  }
}
