package dev.cinch.lease.rules;

import static dev.cinch.lease.rules.Refusals.watermark;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.Watermark;

/**
 * Rule L2: which watermarks are refused. See docs/decisions/watermark-signed-time.md.
 *
 * @param aheadNanos how far one may be ahead of signed time, and of the latest that it can be;
 *     nanoseconds, 0 or more
 * @param behindNanos how far one may lie before the lease was granted; nanoseconds, 0 or more
 */
@CheckReturnValue
public record WatermarkRule(long aheadNanos, long behindNanos) {
  private static final long NANOS_PER_MS = 1_000_000;

  /**
   * Checks what a holder states about one of its leases.
   *
   * @param now by the service's time, which becomes the watermark's signed time
   * @throws LeaseRefusedException {@code WATERMARK}, saying why
   */
  void check(LeaseState lease, LeaseReport report, Moment now) throws LeaseRefusedException {
    if (report.fenced()) {
      checkFence(lease, now);
    }
    if (report.watermark().isEmpty()) {
      return;
    }
    checkInTime(report, now);
    long time = now.time();
    long stated = report.watermark().getAsLong();
    String problem = null;
    if (lease.state() == LeaseState.State.TENTATIVE) {
      problem = "the lease is tentative and permits no writes";
    } else if (stated <= lease.lowerBound()) {
      problem = "it is not above the lease's lower bound, " + lease.lowerBound();
    } else if (stated >= lease.expiry()) {
      problem = "it is not below the lease's expiry, " + lease.expiry();
    } else if (stated < lease.grantedAt() - behindNanos) {
      problem = "it is from long before the lease was granted, at " + lease.grantedAt();
    } else if (stated > time && stated - time > aheadNanos) {
      problem =
          "it is "
              + (stated - time) / NANOS_PER_MS
              + " ms ahead of signed time, more than "
              + aheadNanos / NANOS_PER_MS;
    }
    if (problem != null) {
      throw watermark(
          "the watermark " + stated + " for " + lease.name() + " is refused: " + problem);
    }
  }

  /**
   * Checks what a holder states against the latest that it can be, whatever its leases are.
   *
   * @throws LeaseRefusedException {@code WATERMARK}, saying why
   */
  public void checkInTime(LeaseReport report, Moment now) throws LeaseRefusedException {
    if (report.watermark().isEmpty()) {
      return;
    }
    long stated = report.watermark().getAsLong();
    if (new Watermark(stated, now.time(), now.latest()).isTooFarAhead(aheadNanos)) {
      throw watermark(
          "the watermark %d is refused: it is %d ms ahead of the latest that it can be%s, more than %d"
              .formatted(
                  stated,
                  (stated - now.latest()) / NANOS_PER_MS,
                  now.bound().kind() == TimeBound.Kind.MEASURED
                      ? " by the service's time sources"
                      : "",
                  aheadNanos / NANOS_PER_MS));
    }
  }

  /** A fence that is done with becomes a watermark, and no horizon has passed what is to come. */
  private void checkFence(LeaseState lease, Moment now) throws LeaseRefusedException {
    var fence = new Watermark(lease.from().fence().upTo(), now.time(), now.latest());
    if (fence.isTooFarAhead(aheadNanos)) {
      throw watermark(
          "the fence of %s can't be done with: it is %d ms ahead of the latest that it can be"
              .formatted(
                  lease.name(), (lease.from().fence().upTo() - now.latest()) / NANOS_PER_MS));
    }
  }
}
