package dev.cinch.lease.hold;

/**
 * How a {@link HeldLease} renews, and how early it stops being safe.
 *
 * @param durationMs what each renewal asks for, 1 to the service's longest lease, milliseconds
 * @param driftPerMille how much slower than the service's clock the monotonic one may run, in
 *     thousandths, 0 to 500
 * @param marginMs taken off the end besides, milliseconds, 0 to less than {@code durationMs}
 * @param retryMs how long to wait after a renewal that failed, milliseconds, at least 1
 */
public record HoldSettings(long durationMs, int driftPerMille, long marginMs, long retryMs) {
  /**
   * @throws IllegalArgumentException if one is out of range
   */
  public HoldSettings {
    if (durationMs < 1
        || driftPerMille < 0
        || driftPerMille > 500
        || marginMs < 0
        || marginMs >= durationMs
        || retryMs < 1) {
      throw new IllegalArgumentException(
          "a lease of "
              + durationMs
              + " ms with "
              + driftPerMille
              + " per mille of drift, a margin of "
              + marginMs
              + " ms and a retry after "
              + retryMs
              + " ms");
    }
  }

  /** For leases so long: one per cent of drift, 2 per cent of margin, a retry in a tenth of it. */
  public static HoldSettings of(long durationMs) {
    return new HoldSettings(durationMs, 10, durationMs / 50, Math.max(1, durationMs / 10));
  }

  /** How long after a request was sent its lease may be used, nanoseconds. */
  public long safeNanos() {
    return (durationMs * (1_000 - driftPerMille) - marginMs * 1_000) * 1_000;
  }
}
