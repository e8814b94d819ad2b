package dev.cinch.lease.memory;

import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.time.TimeBound;
import dev.cinch.lease.time.TimeBounds;
import java.util.Optional;

/**
 * Rule L2 by those who know the time better than the service's own clock: no watermark is further
 * ahead of the latest that it can be than it may be of signed time.
 *
 * @param bounds between which times it is
 * @param aheadNanos how far ahead is allowed, nanoseconds
 */
record BoundRule(TimeBounds bounds, long aheadNanos) {
  private static final long NANOS_PER_MS = 1_000_000;

  /**
   * Checks what a holder states, before anything is changed by it.
   *
   * @throws LeaseRefusedException {@code WATERMARK}, saying why
   */
  void check(LeaseReport report) throws LeaseRefusedException {
    if (report.watermark().isEmpty()) {
      return;
    }
    // What is only assumed may follow a clock that was set back: it refuses nothing.
    Optional<TimeBound> now = bounds.now().filter(b -> b.kind() == TimeBound.Kind.MEASURED);
    long stated = report.watermark().getAsLong();
    // Of a bound long before 1970 the difference may be more than a number holds.
    if (now.isPresent() && stated > now.get().latest()) {
      long ahead = stated - now.get().latest();
      if (ahead < 0 || ahead > aheadNanos) {
        throw Refusals.watermark(
            "the watermark %d is refused: it is %d ms ahead of the latest that it can be by the service's time sources, more than %d"
                .formatted(stated, ahead / NANOS_PER_MS, aheadNanos / NANOS_PER_MS));
      }
    }
  }
}
