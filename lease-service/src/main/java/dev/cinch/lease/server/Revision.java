package dev.cinch.lease.server;

import dev.cinch.lease.ChangeListener;
import java.security.SecureRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * How often anything has changed that a server lists, as an {@code ETag}: a reader that has the
 * present one need not be told again. It ends with the first lease of its answer, since nothing
 * else tells that a time is over. Thread-safe.
 */
final class Revision implements ChangeListener {
  /** So long an answer counts at most: should a change ever go unheard, it is seen then. */
  static final long LONGEST = 15_000_000_000L;

  /** No other server's tags begin so, nor this one's after a start. */
  private final String origin = Long.toHexString(new SecureRandom().nextLong());

  private final AtomicLong changes = new AtomicLong();
  private final LongSupplier clock;

  /**
   * @param clock monotonic, nanoseconds
   */
  Revision(LongSupplier clock) {
    this.clock = clock;
  }

  @Override
  public void changed(String name, boolean free) {
    lost();
  }

  @Override
  public void lost() {
    var unused = changes.incrementAndGet();
  }

  /** Read before what is answered, so that a change meanwhile is never taken for a part of it. */
  long now() {
    return changes.get();
  }

  /**
   * The tag of an answer.
   *
   * @param at what {@link #now} was before it
   * @param left how long it stays as it is if nothing changes, nanoseconds
   */
  String tag(long at, long left) {
    long until = clock.getAsLong() + Math.max(0, Math.min(left, LONGEST));
    return '"' + origin + '-' + at + '-' + until + '"';
  }

  /** Whether an answer with such a tag would be the same now. */
  boolean isPresent(@Nullable String tag) {
    String begins = '"' + origin + '-' + changes.get() + '-';
    if (tag == null || !tag.startsWith(begins) || !tag.endsWith("\"")) {
      return false;
    }
    try {
      long until = Long.parseLong(tag.substring(begins.length(), tag.length() - 1));
      return until - clock.getAsLong() > 0;
    } catch (NumberFormatException e) {
      return false;
    }
  }
}
