package dev.cinch.lease;

import java.nio.charset.StandardCharsets;
import java.util.Optional;

/**
 * An operator wants a lease to be prolonged no more (rule L15).
 *
 * @param name the lease's
 * @param reason one line for people, 1 to {@link #MAX_REASON_BYTES} bytes of UTF-8
 * @param correlation of the lease that is meant; empty: whichever is held when this comes
 */
public record RevokeRequest(LeaseName name, String reason, Optional<Id> correlation) {
  /** The longest reason, in bytes of UTF-8. */
  public static final int MAX_REASON_BYTES = 255;

  /**
   * @throws IllegalArgumentException if the reason is empty, too long, or has a character that
   *     can't be shown
   */
  public RevokeRequest {
    OneLine.check("the reason", reason);
    int bytes = reason.getBytes(StandardCharsets.UTF_8).length;
    if (reason.isBlank() || bytes > MAX_REASON_BYTES || !OneLine.fits(reason)) {
      throw new IllegalArgumentException(
          "a reason is one line of 1 to " + MAX_REASON_BYTES + " bytes");
    }
  }
}
