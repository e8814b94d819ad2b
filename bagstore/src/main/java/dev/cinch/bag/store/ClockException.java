package dev.cinch.bag.store;

import java.io.IOException;

/**
 * This machine's clock is too far from the filesystem's: it refuses to work, and nothing was
 * written.
 */
public class ClockException extends IOException {
  private static final long serialVersionUID = 1;

  ClockException(long nanos, long boundMs, String side) {
    super(
        "this machine's clock is %.3f s %s the filesystem's, the store allows %.3f s; set the clock (NTP) and try again"
            .formatted(nanos / 1e9, side, boundMs / 1e3));
  }
}
