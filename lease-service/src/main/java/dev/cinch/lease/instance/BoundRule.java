package dev.cinch.lease.instance;

import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.Watermark;
import dev.cinch.lease.rules.Moment;
import dev.cinch.lease.rules.Refusals;
import dev.cinch.lease.rules.WatermarkRule;
import dev.cinch.lease.time.SignedClock.Reading;
import dev.cinch.lease.time.TimeBounds;
import java.util.Optional;

/**
 * What rule L2 asks of the bound of time.
 *
 * @param bounds between which times it is
 * @param watermarks which are refused
 */
record BoundRule(TimeBounds bounds, WatermarkRule watermarks) {
  /**
   * How far off the time may be for leases to be granted, nanoseconds: what a Roughtime server
   * vouches for, thrice, and how far chrony's clock goes wrong in hours without a server.
   */
  static final long WIDEST = 10_000_000_000L;

  private static final long NANOS_PER_MS = 1_000_000;
  private static final long RETRY_AFTER = 1_000 * NANOS_PER_MS;

  /** When something is done for which the clocks were looked at. */
  Moment moment(Reading at) {
    return new Moment(at.now(), bounds.at(at.wall(), at.monotonic()), at.steady(), 0);
  }

  private static Watermark watermark(long timestamp, Moment now) {
    return new Watermark(timestamp, now.time(), now.latest());
  }

  /**
   * That enough is known of the time to grant leases.
   *
   * @throws LeaseRefusedException {@code NOT_YET}, saying what is not
   */
  void requireKnown(Moment now) throws LeaseRefusedException {
    Optional<String> doubt = bounds.doubt();
    String problem = null;
    if (doubt.isPresent()) {
      problem = "its time sources contradict each other: " + doubt.get();
    } else if (isWiderThan(WIDEST, now)) {
      problem =
          "it knows the time to %s only, and needs ±%d s"
              .formatted(now.bound().inWords(), WIDEST / 1_000 / NANOS_PER_MS);
    } else if (watermark(now.time(), now).isTooFarAhead(watermarks.aheadNanos())) {
      // What is granted would be lost with the first watermark.
      problem =
          "its clock is %d ms ahead of the latest that it can be by its time sources"
              .formatted((now.time() - now.latest()) / NANOS_PER_MS);
    }
    if (problem != null) {
      throw Refusals.notYet("the service grants nothing: " + problem, RETRY_AFTER);
    }
  }

  /** Of a bound without ends the difference is more than a number holds. */
  private static boolean isWiderThan(long radius, Moment now) {
    long width = now.bound().latest() - now.bound().earliest();
    return Long.compareUnsigned(width, 2 * radius) > 0;
  }
}
