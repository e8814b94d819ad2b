package dev.cinch.lease.hold;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LeaseUnavailableException.LeaseNotSentException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.time.TimeSource;
import java.util.List;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How leases are given back: at whichever instance goes on with them, and once more where it was
 * not done. Not thread-safe.
 */
final class Releasing {
  private static final long NANOS_PER_MS = 1_000_000;

  /** For so long a release is sent again that was not done; above how often instances look. */
  private static final long RELEASE_NANOS = 7_000_000_000L;

  /** So many servers may be gone one after the other, or one once more, before that is given up. */
  private static final int UNSENT = 3;

  private static final Logger LOG = LoggerFactory.getLogger(Releasing.class);

  private final HeldLease leases;
  private final GrantCalls calls;
  private final TimeSource time;
  private final HoldSettings settings;

  /** Whether a release was sent that nobody answered: then nothing is resumed (rule L13). */
  private boolean releaseUnheard;

  /**
   * {@link GrantCalls#moves} before the first such: another server can't tell whether it was done.
   */
  private long movesOfUnheard;

  /** Whether no release was sent, and the server that goes on has to resume them before one is. */
  private boolean elsewhere;

  Releasing(HeldLease leases, GrantCalls calls, TimeSource time, HoldSettings settings) {
    this.leases = leases;
    this.calls = calls;
    this.time = time;
    this.settings = settings;
  }

  /** Releases them, which nobody renews any more. */
  void release(LeaseReport last) throws LeaseRefusedException, LeaseUnavailableException {
    long from = time.monotonicNanos();
    for (boolean done = false; !done; ) {
      done = isReleased(last, from);
    }
  }

  /**
   * Sends a release.
   *
   * @param from when that began, by the monotonic clock
   * @return false if nothing was done, and it may be sent again
   */
  private boolean isReleased(LeaseReport last, long from)
      throws LeaseRefusedException, LeaseUnavailableException {
    try {
      releaseOrResume(last);
      return true;
    } catch (LeaseRefusedException e) {
      if (!isAgain(e, from)) {
        throw e;
      }
      return false;
    }
  }

  private void releaseOrResume(LeaseReport last)
      throws LeaseRefusedException, LeaseUnavailableException {
    try {
      sendRelease(last);
    } catch (LeaseRefusedException e) {
      boolean known = !releaseUnheard || calls.moves() == movesOfUnheard;
      if (e.reason() != LeaseRefusedException.Reason.SUPERSEDED
          || leases.state() == HeldLease.State.LOST
          || !known) {
        throw e;
      }
      // No copy of the release was carried out there, nor will be (rule L13).
      leases.goesBy(calls.resume(leases.grant()));
      releaseUnheard = false; // of the one that goes on
      sendRelease(last);
    }
  }

  /** After waiting, whether it is to be asked again: it was not done, and there is time. */
  private boolean isAgain(LeaseRefusedException refused, long from) {
    long now = time.monotonicNanos();
    long pause = Math.min(settings.retryMs(), Math.max(1, refused.retryAfterMs())) * NANOS_PER_MS;
    if (refused.reason() != LeaseRefusedException.Reason.NOT_YET
        || now + pause - from > RELEASE_NANOS
        || now + pause - leases.deadline() >= 0) {
      return false;
    }
    try {
      time.sleepNanos(pause);
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /**
   * To the next server if the first one is gone. That one has to resume them before it hears of it.
   */
  private void sendRelease(LeaseReport last)
      throws LeaseRefusedException, LeaseUnavailableException {
    for (int unsent = 0; ; unsent++) {
      if (elsewhere) {
        resumeElsewhere();
        elsewhere = false;
      }
      long movesBefore = calls.moves();
      try {
        calls.release(leases.grant(), last);
        return;
      } catch (LeaseNotSentException e) {
        elsewhere = !releaseUnheard && leases.state() != HeldLease.State.LOST;
        if (unsent == UNSENT) {
          throw e;
        }
      } catch (LeaseUnavailableException e) {
        unheard(movesBefore);
        throw e;
      } catch (LeaseRefusedException e) {
        if (e.reason() == LeaseRefusedException.Reason.NOT_YET && leases.witnesses().size() > 1) {
          unheard(movesBefore); // some of them may have been released
        }
        throw e;
      }
    }
  }

  /** A release was sent that may have been done; the first one counts for all that follow. */
  private void unheard(long movesBefore) {
    if (!releaseUnheard) {
      releaseUnheard = true;
      movesOfUnheard = movesBefore;
    }
  }

  private void resumeElsewhere() throws LeaseRefusedException, LeaseUnavailableException {
    try {
      leases.goesBy(calls.resume(leases.grant()));
    } catch (LeaseRefusedException e) {
      if (e.reason() == LeaseRefusedException.Reason.NOT_YET) {
        throw e;
      }
      LOG.debug("before they are released elsewhere: {}", e.toString());
    }
  }

  /** A service that did not answer may have been restarted: only there can they be released. */
  void resumeFirst() {
    long from = time.monotonicNanos();
    boolean again = true;
    while (again) {
      try {
        Grant unused = leases.askToRenew(LogSet.NONE);
        again = false;
      } catch (LeaseRefusedException e) {
        LOG.debug("before they are released: {}", e.toString());
        again = isAgain(e, from);
      } catch (LeaseUnavailableException e) {
        LOG.debug("before they are released: {}", e.toString());
        again = false;
      }
    }
  }

  /**
   * What the holder of a grant asks the service: always in the name of the instance whose witnesses
   * it goes by, since another one may have the leases too (rule L12). Thread-safe.
   */
  @CheckReturnValue
  static final class GrantCalls {
    private static final Logger LOG = LoggerFactory.getLogger(GrantCalls.class);

    private final LeaseService service;
    private final long durationMs;
    private final Supplier<LeaseReport> reports;

    /**
     * @param reports asked before each renewal
     */
    GrantCalls(LeaseService service, long durationMs, Supplier<LeaseReport> reports) {
      this.service = service;
      this.durationMs = durationMs;
      this.reports = reports;
    }

    /** How often the service has begun to ask another server. */
    long moves() {
      return service.moves();
    }

    private static long instanceOf(Grant grant) {
      return grant.witnesses().get(0).witness().instance();
    }

    Grant renew(Grant grant, LogSet addLogs)
        throws LeaseRefusedException, LeaseUnavailableException {
      LeaseReport report = reports.get().to(instanceOf(grant));
      return same(grant, service.renew(grant.id(), durationMs, addLogs, report));
    }

    /**
     * Goes on at the instance that answers.
     *
     * @param grant as last answered, which says the most: the logs gained, a fence that is done
     *     with
     */
    Grant resume(Grant grant) throws LeaseRefusedException, LeaseUnavailableException {
      var resume = new Operation.Resume(grant.id(), grant.witnesses(), durationMs);
      Grant resumed = same(grant, service.resume(resume));
      LOG.info(
          "the lease service was restarted: {} goes on at instance {}",
          resumed.witnesses().get(0).witness().name(),
          instanceOf(resumed));
      return resumed;
    }

    Grant upgrade(Grant grant) throws LeaseRefusedException, LeaseUnavailableException {
      return same(grant, service.upgrade(grant.id(), durationMs));
    }

    /**
     * Somebody else may have used the id for other leases at a server that has not met this grant:
     * then these were not prolonged.
     */
    private static Grant same(Grant before, Grant after) throws LeaseUnavailableException {
      if (!names(before).equals(names(after))) {
        throw new LeaseUnavailableException(
            "the lease service answers of other leases: " + names(after), null);
      }
      return after;
    }

    private static List<LeaseName> names(Grant grant) {
      return grant.witnesses().stream().map(signed -> signed.witness().name()).sorted().toList();
    }

    void release(Grant grant, LeaseReport last)
        throws LeaseRefusedException, LeaseUnavailableException {
      var release = new Operation.Release(grant.id(), last.to(instanceOf(grant)), true);
      service.carryOut(release).requireDone();
    }
  }
}
