package dev.cinch.bag.write;

import dev.cinch.bag.store.StoreContext;
import java.io.IOException;

/**
 * Compares this machine's clock with the filesystem's (section 5), which costs a few operations and
 * so is done now and then. Confined to one committer.
 */
final class ClockCheck {
  /** How long a comparison is good for. */
  private static final long GOOD_FOR_NANOS = 10_000_000_000L;

  /** A wall clock that moved by so much against the monotonic one was set. */
  private static final long STEP_NANOS = 50_000_000;

  private final StoreContext store;
  private boolean known;
  private long checkedAt;
  private long offset;

  ClockCheck(StoreContext store) {
    this.store = store;
  }

  /**
   * Compares the clocks if that was long ago, or if this machine's was set since.
   *
   * @throws dev.cinch.bag.store.ClockException if they are further apart than the store allows
   */
  void check() throws IOException {
    long now = store.time().monotonicNanos();
    long offsetNow = store.time().wallNanos() - now;
    if (known && now - checkedAt <= GOOD_FOR_NANOS && Math.abs(offsetNow - offset) <= STEP_NANOS) {
      return;
    }
    known = false;
    long unused = store.checkedNow();
    checkedAt = now;
    offset = offsetNow;
    known = true;
  }

  /** How far ahead of this machine's clock a timestamp is, nanoseconds. */
  long aheadNanos(long timestamp) {
    return timestamp - store.time().wallNanos();
  }
}
