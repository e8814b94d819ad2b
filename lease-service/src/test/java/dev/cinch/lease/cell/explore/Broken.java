package dev.cinch.lease.cell.explore;

/** What must never happen did. */
final class Broken extends RuntimeException {
  private static final long serialVersionUID = 1L;

  Broken(String what) {
    super(what);
  }
}
