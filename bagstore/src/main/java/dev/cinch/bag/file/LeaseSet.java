package dev.cinch.bag.file;

import dev.cinch.lease.Id;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import java.util.List;
import java.util.Optional;

/**
 * The witnesses that a message was written under, and whether they permit it (rule F3). Immutable.
 *
 * @param witnesses those that could be read and verified
 * @param fault why the set as a whole permits nothing; empty if it may permit something
 * @param lowerBound timestamps must be above it
 * @param upperBound timestamps must be below it
 */
public record LeaseSet(
    List<SignedWitness> witnesses, Optional<String> fault, long lowerBound, long upperBound) {

  /**
   * What a set permits.
   *
   * @param aheadNanos how far ahead a watermark may lie (rule L2)
   */
  static LeaseSet of(
      List<SignedWitness> witnesses, Optional<String> fault, Id log, long aheadNanos) {
    long lower = Long.MIN_VALUE;
    long upper = Long.MAX_VALUE;
    Optional<String> why = fault;
    for (SignedWitness s : witnesses) {
      Witness w = s.witness();
      lower = Math.max(lower, w.lowerBound());
      upper = Math.min(upper, w.expiry());
      if (why.isEmpty() && w.tentative()) {
        why = Optional.of("the lease " + w.name() + " is tentative");
      }
      if (why.isEmpty() && w.watermark().isTooFarAhead(aheadNanos)) {
        why =
            Optional.of(
                "the watermark of the lease %s is too far ahead of its signed time"
                    .formatted(w.name()));
      }
      if (why.isEmpty() && !w.logs().contains(log)) {
        why = Optional.of("the lease " + w.name() + " does not name this log");
      }
    }
    if (why.isEmpty() && witnesses.isEmpty()) {
      why = Optional.of("it names no lease");
    }
    return new LeaseSet(List.copyOf(witnesses), why, lower, upper);
  }

  /** Why a message with this timestamp is not permitted; null if it is. */
  @org.jspecify.annotations.Nullable
  public String objection(long timestamp) {
    if (fault.isPresent()) {
      return fault.get();
    }
    if (timestamp <= lowerBound) {
      return "its timestamp is not above the lower bound " + lowerBound;
    }
    if (timestamp >= upperBound) {
      return "its timestamp is not below the expiry " + upperBound;
    }
    return null;
  }
}
