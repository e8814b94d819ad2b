package dev.cinch.bag.audit;

/**
 * What was read and found.
 *
 * @param files read to their end
 * @param bytes in them
 * @param logs in the store
 * @param records of all horizons
 * @param buckets that records list
 * @param messages that the locks cover; of what is retired, those in segments; in buckets not
 *     settled yet, those of whole batches
 * @param damage findings of severity {@link Finding.Severity#DAMAGE}
 * @param notes findings of severity {@link Finding.Severity#NOTE}
 */
public record VerifySummary(
    long files,
    long bytes,
    long logs,
    long records,
    long buckets,
    long messages,
    long damage,
    long notes) {
  /** Whether every answer is right: no damage. */
  public boolean intact() {
    return damage == 0;
  }
}
