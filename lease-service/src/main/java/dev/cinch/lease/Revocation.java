package dev.cinch.lease;

/**
 * That an operator revoked a lease (rule L15).
 *
 * @param name the lease's
 * @param holder its holder, for people
 * @param correlation of the lease
 * @param instance where it was revoked
 * @param revokedAt by the service's signed time, nanoseconds since the Unix epoch
 * @param reason the operator's, one line
 */
public record Revocation(
    LeaseName name, String holder, Id correlation, long instance, long revokedAt, String reason) {
  /** Whether it is of the same lease at the same instance. */
  public boolean isOf(Revocation other) {
    return correlation.equals(other.correlation)
        && instance == other.instance
        && name.equals(other.name);
  }
}
