package dev.cinch.lease;

import java.util.OptionalLong;

/**
 * What a service counts, for monitoring.
 *
 * @param held leases that are held, tentative or revoked, and not over; empty where nobody knows
 * @param signatures that it has made since it started; each may be of several witnesses
 */
public record ServiceCounts(OptionalLong held, OptionalLong signatures) {
  /** Of a service that counts nothing. */
  public static final ServiceCounts NONE =
      new ServiceCounts(OptionalLong.empty(), OptionalLong.empty());
}
