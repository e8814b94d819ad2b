package dev.cinch.lease.instance;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.rules.Inheritance;
import dev.cinch.lease.rules.LastWords;
import dev.cinch.lease.time.SignedClock.Reading;
import dev.cinch.lease.time.Waits;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * What instances before this one may have signed, and how long their leases are waited for (rules
 * L3, L18, L19). Immutable and thread-safe.
 *
 * @param ceiling no expiry above it was signed, nanoseconds since the Unix epoch; empty if none was
 * @param words what the last one left, if it did: then they go in the place of the ceiling
 * @param start when this instance started
 * @param othersWait so long from then nothing is granted of which no more is known, nanoseconds
 * @param wholeWait so long from then some lease below the ceiling may be held, nanoseconds
 */
@CheckReturnValue
record EarlierInstances(
    OptionalLong ceiling,
    Optional<LastWords> words,
    Reading start,
    long othersWait,
    long wholeWait) {
  /**
   * By what a registry says, once this instance has its number.
   *
   * @param apart how far clocks may be apart, nanoseconds
   */
  static EarlierInstances of(
      OptionalLong ceiling, Optional<LastWords> words, long apart, Reading start) {
    if (ceiling.isEmpty()) {
      return new EarlierInstances(ceiling, Optional.empty(), start, 0, 0);
    }
    // By any clock. What is left at the start passes by the monotonic clock, which is not set.
    long whole = Waits.saturatedMinus(ceiling.getAsLong(), start.now() - apart);
    long wait = whole;
    if (words.isPresent()) {
      wait = Waits.saturatedMinus(words.get().othersUpTo(), start.now() - apart);
      // No signed time is before those of the instance that ended.
      wait = Math.max(wait, Waits.saturatedMinus(words.get().endedAt(), start.now()));
    }
    return new EarlierInstances(ceiling, words, start, wait, whole);
  }

  /**
   * Without a registry: all that can be known is what an instance with a clock like ours had signed
   * when this one started.
   *
   * @param fresh there was no instance before, or all its leases are known to be over and fenced
   */
  static EarlierInstances guessed(boolean fresh, long longestNanos, Reading start) {
    return fresh
        ? new EarlierInstances(OptionalLong.empty(), Optional.empty(), start, 0, 0)
        : new EarlierInstances(
            OptionalLong.of(start.now() + longestNanos),
            Optional.empty(),
            start,
            longestNanos,
            longestNanos);
  }

  /** What all of them together may have signed. */
  Fence signed() {
    return ceiling.isEmpty() ? Fence.NONE : new Fence(ceiling.getAsLong(), LogSet.ALL);
  }

  /** What the first lease of a name inherits of which no more is known (rules L3, L19). */
  Inheritance origin() {
    if (ceiling.isEmpty()) {
      return Inheritance.origin(Ending.NONE, Fence.NONE);
    }
    long upTo = words.map(LastWords::othersUpTo).orElse(ceiling.getAsLong());
    return Inheritance.origin(
        Ending.UNKNOWN, upTo == Long.MIN_VALUE ? Fence.NONE : new Fence(upTo, LogSet.ALL));
  }

  /**
   * How long until names may be granted of which no more is known, nanoseconds; 0 when they may.
   */
  long waitLeft(Reading at) {
    return left(othersWait, at);
  }

  /** How long until no lease below the ceiling can be held, nanoseconds; 0 when that is so. */
  long wholeWaitLeft(Reading at) {
    return left(wholeWait, at);
  }

  private long left(long wait, Reading at) {
    return Math.max(0, Waits.saturatedMinus(wait, at.monotonic() - start.monotonic()));
  }
}
