package dev.cinch.lease.time;

import dev.cinch.lease.TimeBound;
import java.util.List;
import java.util.Optional;

/** Tells between which times it is. Thread-safe, and quick: it asks nobody. */
@FunctionalInterface
public interface TimeBounds {
  /** How far off a clock that nobody measured is taken to be, nanoseconds. */
  long ASSUMED_NANOS = 1_000_000_000L;

  /** The machine's clock, taken to be right but for a guess. */
  TimeBounds ASSUMED =
      (wall, monotonic) -> TimeBound.around(wall, ASSUMED_NANOS, TimeBound.Kind.ASSUMED);

  /**
   * The bound at the moment of a look at the machine's clocks, just now.
   *
   * @param wall nanoseconds since the Unix epoch
   * @param monotonic nanoseconds
   */
  TimeBound at(long wall, long monotonic);

  /**
   * Why nobody can tell whether the bound is right, in words; empty if nothing speaks against it.
   */
  default Optional<String> doubt() {
    return Optional.empty();
  }

  /** What is wrong with where bounds come from, in words, each one line; mostly empty. */
  default List<String> problems() {
    return List.of();
  }
}
