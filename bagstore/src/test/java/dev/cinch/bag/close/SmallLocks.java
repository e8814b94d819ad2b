package dev.cinch.bag.close;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.cinch.bag.Log;
import dev.cinch.bag.close.HorizonChain.Link;
import java.util.OptionalLong;

/** Closes with limits that a few data files reach. */
public final class SmallLocks {
  private SmallLocks() {}

  /**
   * Settles a log.
   *
   * @param to a time that may be settled
   * @param partBytes what a lock or a part of one has at most
   * @param maxCopies bytes of copies in one lock
   */
  @CanIgnoreReturnValue
  public static Link settle(Log log, long to, int partBytes, int maxCopies) throws Exception {
    var closer = new BucketCloser(log.context(), e -> {}, partBytes, maxCopies);
    return new HorizonAdvance(log.context(), buckets -> {}, closer)
        .advance(to, OptionalLong.of(log.context().store().time().wallNanos()));
  }
}
