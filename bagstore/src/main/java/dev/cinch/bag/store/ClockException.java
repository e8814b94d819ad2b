package dev.cinch.bag.store;

import dev.cinch.lease.ClockOffException;

/**
 * This machine's clock is too far from the filesystem's: it refuses to work, and nothing was
 * written.
 */
public class ClockException extends ClockOffException {
  private static final long serialVersionUID = 1;

  /**
   * @param nanos how far off it is
   * @param boundMs how far the store allows
   * @param side {@code ahead of} or {@code behind}
   */
  public ClockException(long nanos, long boundMs, String side) {
    this(nanos, side, boundMs * 1_000_000, "the store");
  }

  ClockException(long nanos, String side, long boundNanos, String who) {
    super(
        "this machine's clock is %.3f s %s the storage's, %s allows %.3f s; set the clock (NTP) and try again"
            .formatted(nanos / 1e9, side, who, boundNanos / 1e9));
  }
}
