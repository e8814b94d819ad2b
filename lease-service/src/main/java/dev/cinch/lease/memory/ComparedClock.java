package dev.cinch.lease.memory;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.ClockOffException;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.service.InstanceRegistry;
import dev.cinch.lease.table.Refusals;
import dev.cinch.lease.time.SignedClock;
import dev.cinch.lease.time.SignedClock.Reading;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * How right this machine's clock is by the store's, and what may be signed by it (rule L18).
 * Thread-safe; {@link #compare} is called with the registry's turn.
 */
@CheckReturnValue
final class ComparedClock {
  /**
   * How old the last comparison may be for anything to be signed, nanoseconds. What a clock may go
   * wrong by meanwhile is part of {@link InstanceRegistry#clocksApartNanos}.
   */
  static final long WITHIN = 60_000_000_000L;

  /** How old it gets where nobody waits for the next one. */
  private static final long EARLY = 20_000_000_000L;

  private final SignedClock clock;

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
  ComparedClock(SignedClock clock, Reading start) {
    this.clock = clock;
    this.at = start.monotonic();
  }

  /** Compares, and goes by this machine's clock from now on if it agrees. */
  void compare(InstanceRegistry with) throws IOException {
    Reading now = clock.read();
    try {
      with.checkClock(now.wall());
    } catch (ClockOffException e) {
      drifted = !now.jumped(); // else the time goes on by a clock that was right
      off = e.getMessage();
      throw e;
    }
    clock.trust(now);
    at = now.monotonic();
    drifted = false;
    off = null;
  }

  /** Whether it was off when it was compared last. */
  boolean isOff() {
    return off != null;
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
   * The latest that it may be. A machine that slept is late by its monotonic clock, and who holds a
   * lease is not.
   */
  long latest(Reading now) {
    return now.isAhead() && off == null ? now.wall() : now.now();
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
