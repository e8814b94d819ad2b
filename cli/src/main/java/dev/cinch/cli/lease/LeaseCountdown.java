package dev.cinch.cli.lease;

import dev.cinch.lease.hold.HeldLease;
import java.util.function.Consumer;

/**
 * Ends a command whose leases are not renewed before they can be another's. It is told to end as
 * late as that allows, since a renewal may be answered at any moment: when a fifth of the time is
 * left. When a twentieth is left it is killed, whatever it does. Both count from {@link
 * HeldLease#leftNanos}, which comes before the service lets anybody else in (rule L5).
 */
final class LeaseCountdown {
  /** What is attended. */
  interface Attended {
    /** Waits for its end, no longer than so many nanoseconds; whether it has ended. */
    boolean await(long nanos) throws InterruptedException;

    /** How long it may go on from now on, whatever happens to this process. */
    void mayRun(Limits limits);

    /** Tells it to end. */
    void end();

    /** Ends it. */
    void kill();
  }

  /**
   * When a command is ended if nobody here does so; moments of the monotonic clock, nanoseconds.
   *
   * @param end when it is told to end: a little later than here
   * @param kill when it is killed
   */
  record Limits(long end, long kill) {}

  /** How often it is looked whether the leases were lost, nanoseconds. */
  private static final long LOOK_NANOS = 100_000_000;

  private final Consumer<String> say;
  private final long endLeft;
  private final long killLeft;

  /**
   * @param lengthNanos how long leases last unless renewed
   * @param say told in one line of what is done to the command
   */
  LeaseCountdown(long lengthNanos, Consumer<String> say) {
    this.say = say;
    endLeft = lengthNanos / 5;
    killLeft = lengthNanos / 20;
  }

  /** Waits until the command has ended; whether by itself. */
  boolean attend(Attended command, HeldLease held) throws InterruptedException {
    boolean ended = false;
    boolean killed = false;
    long left = held.leftNanos();
    long told = held.deadline();
    while (!command.await(untilNext(left, ended, killed))) {
      left = held.leftNanos();
      if (!ended && held.deadline() != told) {
        told = held.deadline();
        command.mayRun(limits(told));
      }
      if (!ended && (left <= endLeft || held.state() == HeldLease.State.LOST)) {
        ended = true;
        String why = held.lostWhy();
        say.accept(
            "the leases can't be renewed"
                + (why == null ? ", the lease service does not answer" : ": " + why)
                + "; ending the command");
        long kill = limits(told).kill();
        command.mayRun(new Limits(kill, kill)); // it is told here
        command.end();
        left = held.leftNanos(); // looking for all that it started takes a while
      }
      if (ended && !killed && left <= killLeft) {
        killed = true;
        say.accept("it did not end: killing it");
        command.kill();
      }
    }
    return !ended;
  }

  /** Of a command whose leases are held until then. */
  Limits limits(long deadline) {
    return new Limits(deadline - endLeft + killLeft, deadline - killLeft / 2);
  }

  /** Short leases end between two looks. */
  private long untilNext(long left, boolean ended, boolean killed) {
    return killed
        ? LOOK_NANOS
        : Math.max(0, Math.min(LOOK_NANOS, left - (ended ? killLeft : endLeft)));
  }
}
