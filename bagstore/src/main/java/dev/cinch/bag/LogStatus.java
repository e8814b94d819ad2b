package dev.cinch.bag;

import dev.cinch.bag.model.Bucket;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * How a log is doing. Immutable.
 *
 * @param settledThrough the time through which it is settled, nanoseconds since the Unix epoch;
 *     {@link Long#MIN_VALUE} if nothing is
 * @param record number of the last record; 0 if there is none
 * @param open its buckets that are not settled, ascending
 * @param messages settled ones, those included that no lease permits
 * @param bytes of the locks of their buckets; segments that stand in their place have about as many
 * @param entries about how many files and directories it has below {@code buckets} and {@code
 *     horizon}: three for a bucket that is not retired
 * @param newest timestamp of the newest message; {@link Long#MIN_VALUE} if there is none
 * @param newestSettled whether that message is settled
 * @param segments how many there are
 * @param coveredThrough the time through which segments cover the log; {@link Long#MIN_VALUE} if
 *     there is none
 * @param expiredBefore the time before which messages expired; {@link Long#MIN_VALUE} if none did
 * @param intent the furthest time that closers have announced and not reached, if there is one
 */
public record LogStatus(
    long settledThrough,
    long record,
    List<Bucket> open,
    long messages,
    long bytes,
    long entries,
    long newest,
    boolean newestSettled,
    long segments,
    long coveredThrough,
    long expiredBefore,
    Optional<LeftIntent> intent) {
  public LogStatus {
    open = List.copyOf(open);
  }

  /**
   * What a closer that is at work, has failed or was stopped has announced.
   *
   * @param reach the time up to which it is about to settle, nanoseconds since the Unix epoch
   * @param since when it announced that, by the filesystem's clock; nanoseconds since the Unix
   *     epoch
   */
  public record LeftIntent(long reach, long since) {}

  /** Whether everything is settled that was written: then how long ago that was means nothing. */
  public boolean isIdle() {
    return open.isEmpty();
  }

  /**
   * How far the settled part is behind, nanoseconds, also that of an idle log; empty if nothing is
   * settled.
   *
   * @param at the filesystem's now, nanoseconds since the Unix epoch
   */
  public OptionalLong lag(long at) {
    return settledThrough == Long.MIN_VALUE
        ? OptionalLong.empty()
        : OptionalLong.of(Math.max(0, at - settledThrough));
  }

  /**
   * How old what is not settled may be, nanoseconds; 0 if everything is settled.
   *
   * @param at the filesystem's now, nanoseconds since the Unix epoch
   */
  public long unsettledFor(long at) {
    return isIdle() ? 0 : Math.max(0, at - Math.max(settledThrough, open.get(0).start()));
  }

  /**
   * For how long the oldest open bucket could have been settled, nanoseconds; 0 if it can't be yet.
   *
   * @param at the filesystem's now, nanoseconds since the Unix epoch
   * @param grace the store's grace period, nanoseconds
   */
  public long overdue(long at, long grace) {
    return isIdle() ? 0 : Math.max(0, at - open.get(0).end() - grace);
  }
}
