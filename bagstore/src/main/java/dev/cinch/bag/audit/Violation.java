package dev.cinch.bag.audit;

import dev.cinch.bag.model.Name;

/**
 * Something that should not be there if leases had excluded each other.
 *
 * @param rule what it breaks
 * @param path the data file or, of a retired bucket, the segment
 * @param offset where in it the batch, or the block of a segment, begins; bytes
 * @param problem one line for the user
 */
public record Violation(Rule rule, Name path, long offset, String problem) {
  /** What {@link LeaseAuditor} checks. */
  public enum Rule {
    /** Every message stands under valid witnesses, within their bounds and logs (rule F3). */
    WITNESS,
    /** All witnesses of one lease say the same of it. */
    LEASE,
    /** Each lease of a name names the one before. */
    CHAIN,
    /** The ranges of one name's leases do not overlap (rules F1, L1). */
    RANGE,
    /** What had to be fenced was, before the next holder wrote (rule L8). */
    FENCE,
    /** A file can't be read as the lock says, or a segment at all; {@code verify} tells more. */
    DAMAGE
  }

  /** One line for the user. */
  @Override
  public String toString() {
    return "%s at byte %d: %s (%s)"
        .formatted(path, offset, problem, rule.name().toLowerCase(java.util.Locale.ROOT));
  }
}
