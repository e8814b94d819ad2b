package dev.cinch.bag.read;

import dev.cinch.bag.model.LogName;
import dev.cinch.lease.IsoTime;
import java.io.IOException;

/**
 * Messages that a read had still to give expired under it (rule R4). Nothing is damaged, and what
 * it gave stands. A read from {@link #before} on gives all that is kept.
 */
public final class ExpiredException extends IOException {
  private static final long serialVersionUID = 1;

  private final long before;

  ExpiredException(LogName log, long before) {
    super(
        log + ": messages expired while they were read; go on with --from " + IsoTime.text(before));
    this.before = before;
  }

  /** Nothing before this time is kept; nanoseconds since the Unix epoch. */
  public long before() {
    return before;
  }
}
