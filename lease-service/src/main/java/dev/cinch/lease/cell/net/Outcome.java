package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Step;

/** How an attempt ended. Immutable. */
public sealed interface Outcome {
  /**
   * The machines had their say.
   *
   * @param step {@link Step.Granted}, {@link Step.Held}, {@link Step.Unavailable} or {@link
   *     Step.Indeterminate}
   */
  record Ended(Step step) implements Outcome {}

  /** The node refused it, or gave it up; nobody has a lease by it. */
  enum Refused implements Outcome {
    /** Too many wait; try again later, or another node. */
    OVERLOADED,
    /** A majority of acceptors has no room for one more name; try again later. */
    FULL,
    /** This node holds the lease: it can be renewed, but not acquired. */
    HELD_HERE,
    /** Another attempt of this node for the name is under way. */
    BUSY,
    /** The lease that was to be renewed is not held any more. */
    LOST,
    /** The caller wanted to propose nothing after what was found. */
    DECLINED,
    /** The node is closed. */
    CLOSED
  }

  /** Whether the caller's node is the owner by it. */
  default boolean isGranted() {
    return this instanceof Ended ended && ended.step() instanceof Step.Granted;
  }
}
