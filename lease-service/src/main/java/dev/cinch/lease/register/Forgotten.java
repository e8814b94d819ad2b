package dev.cinch.lease.register;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.table.Inheritance;
import dev.cinch.lease.table.LeaseState;
import java.util.Optional;

/**
 * What the next lease of a name inherits whose last value may be forgotten (rule L4): a fence up to
 * where a lease can reach that was granted before. Immutable.
 *
 * @param since signed time at which the first lease may have been granted: before it nothing is
 *     forgotten
 * @param longestNanos the longest lease, which may have begun when the value was written
 * @param apartNanos how far the clocks of two machines are apart at most
 */
record Forgotten(long since, long longestNanos, long apartNanos) {
  /**
   * Of a lease that may have been; empty if there can't have been any.
   *
   * @param quietNanos so long ago its value was written, at the least
   * @param now by this machine's clock
   */
  Optional<Inheritance> lease(long quietNanos, long now) {
    // What acceptors forget by a restart has ended by then; what they forget since it is old may
    // have lasted for the longest lease from when it was written.
    long endedAgo = Math.max(0, quietNanos - longestNanos);
    long reach = now - endedAgo + apartNanos;
    return reach < since
        ? Optional.empty()
        : Optional.of(Inheritance.origin(Ending.UNKNOWN, new Fence(reach, LogSet.ALL)));
  }

  /**
   * Whether a later state of a name may be forgotten than the one that was found. Then that one is
   * not to be written again: with it the register would have a last state, and nobody would know of
   * the later one. What has a lease that has not expired by any clock was written after all that is
   * forgotten, which is as old as the longest lease.
   */
  boolean hides(LeaseState lease, StateRegister.Found found, long now) {
    return !found.remembered()
        && lease(found.quietNanos(), now).isPresent()
        && lease.expiry() <= now + apartNanos;
  }
}
