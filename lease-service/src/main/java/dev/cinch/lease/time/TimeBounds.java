package dev.cinch.lease.time;

import java.util.List;
import java.util.Optional;

/** Tells between which times it is now. Thread-safe, and quick: it asks nobody. */
@FunctionalInterface
public interface TimeBounds {
  /** How far off a clock that nobody measured is taken to be, nanoseconds. */
  long ASSUMED_NANOS = 1_000_000_000L;

  /** The bound now; empty where nothing can be vouched for. */
  Optional<TimeBound> now();

  /** What is wrong with where they come from, in words, each one line; mostly empty. */
  default List<String> problems() {
    return List.of();
  }

  /**
   * The machine's clock, taken to be right but for a guess.
   *
   * @param clock the machine's
   */
  static TimeBounds assumed(TimeSource clock) {
    return () ->
        Optional.of(TimeBound.around(clock.wallNanos(), ASSUMED_NANOS, TimeBound.Kind.ASSUMED));
  }
}
