package dev.cinch.bag.write;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.SignedWitness;
import java.util.List;

/**
 * What a message is written under: some witnesses, and the bounds that they set (section 7).
 * Compared by identity: a session makes a new one whenever its leases change. Immutable and
 * thread-safe.
 */
@CheckReturnValue
public final class LeaseStamp {
  /** No lease. */
  public static final LeaseStamp NONE = new LeaseStamp(List.of(), Long.MIN_VALUE, Long.MAX_VALUE);

  private final List<SignedWitness> witnesses;
  private final long lowerBound;
  private final long upperBound;
  private final long bytes;

  /**
   * @param witnesses signed, one a lease
   * @param lowerBound every timestamp is above it; nanoseconds since the Unix epoch
   * @param upperBound every timestamp is below it: the earliest expiry less a margin
   */
  public LeaseStamp(List<SignedWitness> witnesses, long lowerBound, long upperBound) {
    this.witnesses = List.copyOf(witnesses);
    this.lowerBound = lowerBound;
    this.upperBound = upperBound;
    this.bytes = this.witnesses.stream().mapToLong(w -> 4L + 4 + w.bytes().length).sum() + 4;
  }

  /** What it takes in a batch at most: its witnesses, and the set of their numbers. */
  long bytes() {
    return bytes;
  }

  public List<SignedWitness> witnesses() {
    return witnesses;
  }

  public long lowerBound() {
    return lowerBound;
  }

  public long upperBound() {
    return upperBound;
  }

  /** Of a lease that leaves no timestamp above a lower bound: its own, or the log's birth. */
  MessageRefusedException noTimestamp(long lower) {
    return new MessageRefusedException(
        lower == lowerBound
            ? "the lease's bounds leave no timestamp"
            : "the lease allows timestamps below %d, and the log was made at %d"
                .formatted(upperBound, lower));
  }

  /** Of a lease that ends before a timestamp. */
  MessageRefusedException tooLate(long timestamp) {
    return new MessageRefusedException(
        "the lease allows no timestamp at or above %d (expiry less margin), and it is %d"
            .formatted(upperBound, timestamp));
  }
}
