package dev.cinch.sim;

/** Ends a simulated process at an operation; nothing in production catches it. */
final class SimCrash extends Error {
  private static final long serialVersionUID = 1;

  SimCrash(String why) {
    super(why, null, false, false);
  }
}
