package dev.cinch.lease.time;

import java.util.Optional;

/** Tells between which times it is now. Thread-safe, and quick: it asks nobody. */
@FunctionalInterface
public interface TimeBounds {
  /** The bound now; empty where nothing can be vouched for. */
  Optional<TimeBound> now();

  /**
   * The machine's clock, taken to be right but for a guess.
   *
   * @param errorNanos the guess, nanoseconds, 0 or more
   */
  static TimeBounds assumed(TimeSource clock, long errorNanos) {
    return () ->
        Optional.of(TimeBound.around(clock.wallNanos(), errorNanos, TimeBound.Kind.ASSUMED));
  }
}
