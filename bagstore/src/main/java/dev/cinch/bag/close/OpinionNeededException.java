package dev.cinch.bag.close;

import java.io.IOException;
import java.util.OptionalLong;

/**
 * The advance would settle so much at once that a wrong clock is as likely as a long rest: somebody
 * else must say what time it is. What the log's buckets vouch for was settled all the same.
 */
public class OpinionNeededException extends IOException {
  private static final long serialVersionUID = 1;

  private final boolean hasBuckets;
  private final long vouched;

  OpinionNeededException(long nanos, OptionalLong vouched, String problem) {
    super(
        "this would settle %.1f h past the newest bucket and the last record, so a third opinion on the time is needed: %s"
            .formatted(nanos / 3.6e12, problem));
    this.hasBuckets = vouched.isPresent();
    this.vouched = vouched.orElse(0);
  }

  private OpinionNeededException(String message, OpinionNeededException cause) {
    super(message, cause);
    this.hasBuckets = cause.hasBuckets;
    this.vouched = cause.vouched;
  }

  /** The same, saying whose it is. */
  public OpinionNeededException of(String logs) {
    return new OpinionNeededException(logs + ": " + getMessage(), this);
  }

  /**
   * The boundary through which the horizon needs no opinion, since the newest bucket was not
   * settled yet: that bucket's end and a grace period. Nanoseconds since the Unix epoch; empty if
   * there is no bucket behind the last record.
   */
  public OptionalLong vouched() {
    return hasBuckets ? OptionalLong.of(vouched) : OptionalLong.empty();
  }
}
