package dev.cinch.lease.instance;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.rules.Refusals;
import dev.cinch.lease.time.SignedClock.Reading;
import org.jspecify.annotations.Nullable;

/**
 * How right this machine's clock is by the store's, and what may be signed by it (rule L18).
 * Thread-safe; {@link #agreed} and {@link #differs} are called by one thread at a time.
 */
@CheckReturnValue
final class ComparedClock {
  /**
   * How old the last comparison may be for anything to be signed, nanoseconds. What a clock may go
   * wrong by meanwhile is part of what clocks may be apart.
   */
  static final long WITHIN = 60_000_000_000L;

  /** How old it gets where nobody waits for the next one. */
  private static final long EARLY = 20_000_000_000L;

  /** When clocks were compared last, and agreed. */
  private volatile long at;

  /** Whether they did not agree last, and no clock was set since they did. */
  private volatile boolean drifted;

  /**
   * How far this machine's clock was off when it was compared last, in words; null if it agreed.
   */
  private volatile @Nullable String off;

  /**
   * @param start a reading that was compared
   */
  ComparedClock(Reading start) {
    this.at = start.monotonic();
  }

  /** A reading was compared, and found right. */
  void agreed(Reading now) {
    at = now.monotonic();
    drifted = false;
    off = null;
  }

  /**
   * A reading was compared, and found to be off.
   *
   * @param by how far, in words
   */
  void differs(Reading now, @Nullable String by) {
    drifted = !now.jumped(); // else the time goes on by a clock that was right
    off = by;
  }

  /** Whether the clock is to be compared before anything is done by it. */
  boolean mustLook(Reading now) {
    return now.jumped() || off != null;
  }

  /** Whether nothing may be signed before it is compared again. */
  boolean isOld(Reading now) {
    return drifted || now.monotonic() - at > WITHIN;
  }

  /** Whether it should be compared again, so that nobody waits for that. */
  boolean isDue(Reading now) {
    return now.monotonic() - at > EARLY;
  }

  /**
   * How much later it may be than this machine has it, nanoseconds. A machine that slept is late by
   * its monotonic clock, and who holds a lease is not.
   */
  long lateBy(Reading now) {
    return now.isAhead() && off == null ? now.wall() - now.now() : 0;
  }

  /**
   * That it is as right as the clocks of machines have to be that grant the same leases.
   *
   * @throws LeaseRefusedException {@code NOT_YET}, saying by how much it is off
   */
  void requireRight(Reading now) throws LeaseRefusedException {
    String why = off;
    if (why != null || now.jumped()) {
      throw Refusals.notYet(
          "this server grants nothing: "
              + (why != null
                  ? why
                  : "its clock was set, and the store does not say if it is right"),
          InstanceGuard.RETRY_AFTER);
    }
  }

  /**
   * That the machine did not sleep, where its wall clock has gone further than its monotonic one.
   *
   * @throws LeaseRefusedException {@code NOT_YET} if nobody knows
   */
  void requireAwake(Reading now) throws LeaseRefusedException {
    if (now.isAhead() && off == null) {
      throw Refusals.notYet(
          "this server signs nothing: the machine slept, or its clock was set, and the store does"
              + " not say which",
          InstanceGuard.RETRY_AFTER);
    }
  }
}
