package dev.cinch.bag.session;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.Log;
import dev.cinch.bag.close.TooEarlyException;
import dev.cinch.lease.Fence;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.util.List;
import java.util.OptionalLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Moves the horizon past what earlier holders may have written (section 7). Thread-safe. */
@CheckReturnValue
final class Fencing {
  private static final Logger LOG = LoggerFactory.getLogger(Fencing.class);

  /** How long to wait for a fence without looking after the lease. */
  private static final long SLICE_NANOS = 500_000_000;

  private final LeaseService service;
  private final TimeSource time;

  Fencing(LeaseService service, TimeSource time) {
    this.service = service;
    this.time = time;
  }

  /**
   * Advances the horizon of the logs concerned to the fence, before the first read or write
   * (section 7).
   */
  void fence(Holding holding, List<Log> logs) throws IOException, InterruptedException {
    Fence fence = holding.fence();
    if (fence.isNone()) {
      return;
    }
    for (Log log : logs) {
      if (fence.logs().contains(log.id())) {
        advance(holding, log, fence.upTo());
      }
    }
    holding.fenceDone();
  }

  /** The same for one log that the leases are about to be extended to. */
  void fence(Holding holding, Log log) throws IOException, InterruptedException {
    Fence fence = holding.fence();
    if (!fence.isNone() && fence.logs().contains(log.id())) {
      advance(holding, log, fence.upTo());
    }
  }

  private void advance(Holding holding, Log log, long to) throws IOException, InterruptedException {
    while (true) {
      try {
        log.horizon().advance(to, OptionalLong.of(opinion(holding)));
        return;
      } catch (TooEarlyException e) {
        LOG.debug("fencing {}: {}", log.name(), e.getMessage());
        // In slices, renewing meanwhile: a fence may take longer than a lease.
        time.sleepNanos(Math.min(e.waitNanos(), SLICE_NANOS));
        long unused = holding.lease().doWork(time.monotonicNanos());
        if (holding.lease().remainingNanos() <= 0) {
          throw new SessionRefusedException(
              "a lease was lost while its fence was waited for: " + holding.lease().lostWhy(),
              null);
        }
      }
    }
  }

  /** The service's signed time, as a third opinion on what time it is (section 5). */
  private long opinion(Holding holding) {
    try {
      return service.now();
    } catch (LeaseUnavailableException e) {
      return holding.lease().witnesses().get(0).witness().issuedAt();
    }
  }
}
