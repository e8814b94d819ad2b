package dev.cinch.lease.time;

import dev.cinch.lease.TimeBound;
import java.util.List;
import java.util.Optional;

/** Tells between which times it is now. Thread-safe, and quick: it asks nobody. */
@FunctionalInterface
public interface TimeBounds {
  /** How far off a clock that nobody measured is taken to be, nanoseconds. */
  long ASSUMED_NANOS = 1_000_000_000L;

  /** The bound now; empty where nothing can be vouched for. */
  Optional<TimeBound> now();

  /**
   * The bound at the moment of a look at the machine's clocks, just now.
   *
   * @param wall nanoseconds since the Unix epoch
   * @param monotonic nanoseconds
   */
  default Optional<TimeBound> at(long wall, long monotonic) {
    return now();
  }

  /**
   * Why nobody can tell whether {@link #now} is right, in words; empty if nothing speaks against
   * it.
   */
  default Optional<String> doubt() {
    return Optional.empty();
  }

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
    return new TimeBounds() {
      @Override
      public Optional<TimeBound> now() {
        return at(clock.wallNanos(), 0);
      }

      @Override
      public Optional<TimeBound> at(long wall, long monotonic) {
        return Optional.of(TimeBound.around(wall, ASSUMED_NANOS, TimeBound.Kind.ASSUMED));
      }
    };
  }
}
