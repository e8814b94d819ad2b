package dev.cinch.lease.memory;

import static dev.cinch.lease.memory.Refusals.watermark;

import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.Watermark;

/** Rule L2: which watermarks are refused. See docs/decisions/watermark-signed-time.md. */
final class WatermarkRule {
  private static final long NANOS_PER_MS = 1_000_000;

  private WatermarkRule() {}

  /**
   * Checks what a holder states about one of its leases.
   *
   * @param now by the service's time, which becomes the watermark's signed time
   * @throws LeaseRefusedException {@code WATERMARK}, saying why
   */
  static void check(LeaseEntry entry, LeaseReport report, Moment now, TableLimits limits)
      throws LeaseRefusedException {
    if (report.fenced()) {
      checkFence(entry, now, limits);
    }
    if (report.watermark().isEmpty()) {
      return;
    }
    long time = now.time();
    long stated = report.watermark().getAsLong();
    String problem = null;
    if (entry.state == LeaseEntry.State.TENTATIVE) {
      problem = "the lease is tentative and permits no writes";
    } else if (stated <= entry.lowerBound()) {
      problem = "it is not above the lease's lower bound, " + entry.lowerBound();
    } else if (stated >= entry.expiry) {
      problem = "it is not below the lease's expiry, " + entry.expiry;
    } else if (stated < entry.grantedAt() - limits.watermarkBehindNanos()) {
      problem = "it is from long before the lease was granted, at " + entry.grantedAt();
    } else if (stated > time && stated - time > limits.watermarkAheadNanos()) {
      problem =
          "it is "
              + (stated - time) / NANOS_PER_MS
              + " ms ahead of signed time, more than "
              + limits.watermarkAheadNanos() / NANOS_PER_MS;
    }
    if (problem != null) {
      throw watermark("the watermark " + stated + " for " + entry.name + " is refused: " + problem);
    }
  }

  /** A fence that is done with becomes a watermark, and no horizon has passed what is to come. */
  private static void checkFence(LeaseEntry entry, Moment now, TableLimits limits)
      throws LeaseRefusedException {
    var fence = new Watermark(entry.fenceUpTo, now.time(), now.latest());
    if (fence.isTooFarAhead(limits.watermarkAheadNanos())) {
      throw watermark(
          "the fence of %s can't be done with: it is %d ms ahead of the latest that it can be"
              .formatted(entry.name, (entry.fenceUpTo - now.latest()) / NANOS_PER_MS));
    }
  }
}
