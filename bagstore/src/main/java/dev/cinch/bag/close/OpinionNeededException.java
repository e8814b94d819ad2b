package dev.cinch.bag.close;

import java.io.IOException;

/**
 * The advance would settle so much at once that a wrong clock is as likely as a long rest: somebody
 * else must say what time it is.
 */
public class OpinionNeededException extends IOException {
  private static final long serialVersionUID = 1;

  OpinionNeededException(long nanos, String problem) {
    super(
        "this would settle %.1f h past the newest bucket and the last record, so a third opinion on the time is needed: %s"
            .formatted(nanos / 3.6e12, problem));
  }
}
