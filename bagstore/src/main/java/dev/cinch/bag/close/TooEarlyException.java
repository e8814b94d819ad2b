package dev.cinch.bag.close;

import dev.cinch.lease.IsoTime;
import java.io.IOException;

/** The horizon cannot advance that far yet; nothing was touched. */
public class TooEarlyException extends IOException {
  private static final long serialVersionUID = 1;

  private final long waitNanos;

  TooEarlyException(long to, long waitNanos) {
    super(
        "too early to settle through %s: the grace period ends in %.3f s by the storage's clock"
            .formatted(IsoTime.text(to), waitNanos / 1e9));
    this.waitNanos = waitNanos;
  }

  /** How long to wait before it is worth another try. */
  public long waitNanos() {
    return waitNanos;
  }
}
