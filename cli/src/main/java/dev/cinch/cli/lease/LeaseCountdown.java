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

  /** What the user has done about a loss, while the command goes on. */
  interface Hook {
    /**
     * Begins it.
     *
     * @param why the leases are lost
     * @param leftNanos how long until they can be another's
     */
    void begin(String why, long leftNanos);

    /** Whether it is over, or was never begun. */
    boolean isOver();

    /** Waits until it is over, no longer than so many nanoseconds. */
    void await(long nanos) throws InterruptedException;

    /** Ends it. */
    void kill();

    /** Nothing. */
    Hook NONE =
        new Hook() {
          @Override
          public void begin(String why, long leftNanos) {}

          @Override
          public boolean isOver() {
            return true;
          }

          @Override
          public void await(long nanos) {}

          @Override
          public void kill() {}
        };
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

  private static final long HOOK_LOOK_NANOS = 10_000_000;

  private final Consumer<String> say;
  private final Hook onLost;
  private final long endLeft;
  private final long killLeft;

  /**
   * @param lengthNanos how long leases last unless renewed
   * @param say told in one line of what is done to the command
   * @param onLost begun before the command is told to end, which waits for it for half of the time
   *     that there is
   */
  LeaseCountdown(long lengthNanos, Consumer<String> say, Hook onLost) {
    this.say = say;
    this.onLost = onLost;
    endLeft = lengthNanos / 5;
    killLeft = lengthNanos / 20;
  }

  /** Waits until the command has ended; whether by itself. */
  boolean attend(Attended command, HeldLease held) throws InterruptedException {
    boolean lost = false;
    boolean ended = false;
    boolean killed = false;
    long nextLeft = endLeft; // so much is left when something is to be done
    long left = held.leftNanos();
    long told = held.deadline();
    while (!command.await(untilNext(left - nextLeft, lost && !ended, killed))) {
      left = held.leftNanos();
      if (!lost && held.deadline() != told) {
        told = held.deadline();
        command.mayRun(limits(told));
      }
      if (!lost && (left <= endLeft || held.state() == HeldLease.State.LOST)) {
        lost = true;
        String why = held.lostWhy();
        String reason =
            "the leases can't be renewed"
                + (why == null ? ", the lease service does not answer" : ": " + why);
        say.accept(reason + "; ending the command");
        long kill = limits(told).kill();
        command.mayRun(new Limits(kill, kill)); // it is told here
        onLost.begin(reason, left);
        nextLeft = killLeft + (left - killLeft) / 2;
      }
      if (lost && !ended && (onLost.isOver() || left <= nextLeft)) {
        ended = true;
        nextLeft = killLeft;
        command.end();
        left = held.leftNanos(); // looking for all that it started takes a while
      }
      if (ended && !killed && left <= killLeft) {
        killed = true;
        say.accept("it did not end: killing it");
        command.kill();
        onLost.kill();
      }
    }
    finish(held);
    return !lost;
  }

  /** What the user does about a loss may go on behind the command, until the leases can be lost. */
  private void finish(HeldLease held) throws InterruptedException {
    while (!onLost.isOver() && held.leftNanos() > killLeft) {
      onLost.await(Math.min(HOOK_LOOK_NANOS, held.leftNanos() - killLeft));
    }
    onLost.kill();
  }

  /** Of a command whose leases are held until then. */
  Limits limits(long deadline) {
    return new Limits(deadline - endLeft + killLeft, deadline - killLeft / 2);
  }

  /** Short leases end between two looks. */
  private static long untilNext(long until, boolean hooked, boolean killed) {
    long look = hooked ? HOOK_LOOK_NANOS : LOOK_NANOS;
    return killed ? look : Math.max(0, Math.min(look, until));
  }
}
