package dev.cinch.lease.sim;

/** Ends what runs on a lane where it is; nothing in production catches it. */
public final class SimCrash extends Error {
  private static final long serialVersionUID = 1;

  public SimCrash(String why) {
    super(why, null, false, false);
  }
}
