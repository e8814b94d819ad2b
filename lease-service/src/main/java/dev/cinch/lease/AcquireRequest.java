package dev.cinch.lease;

import java.util.List;

/**
 * Asks for several leases at once, all or nothing.
 *
 * @param id secret, drawn by the client for this request; sending it again is the same request
 * @param names 1 to 1,000 different names; the service takes them in ascending order
 * @param holder who asks, at most 255 bytes of UTF-8; shown to others, so none of {@link
 *     OneLine#isHidden}
 * @param durationMs how long the leases last from when the service grants them, 1 to the longest
 *     lease time
 * @param logs the logs to be written to: all, or at most 1,000, and {@code names} times {@code
 *     logs} at most {@link Grant#MAX_LOGS}; services refuse more
 * @param tentative whether to ask for tentative leases
 */
public record AcquireRequest(
    Id id, List<LeaseName> names, String holder, long durationMs, LogSet logs, boolean tentative) {
  /** The most names that one request may have. */
  public static final int MAX_NAMES = 1_000;

  /**
   * @throws IllegalArgumentException if the holder has what people could not see
   */
  public AcquireRequest {
    OneLine.check("the holder", holder);
    names = List.copyOf(names);
  }
}
