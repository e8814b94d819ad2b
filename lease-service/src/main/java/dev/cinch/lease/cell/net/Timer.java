package dev.cinch.lease.cell.net;

/** Something that is due at a time. It is in at most one {@link Timers}. */
abstract class Timer {
  long at;

  /** Its place in the heap, or -1. */
  int index = -1;
}
