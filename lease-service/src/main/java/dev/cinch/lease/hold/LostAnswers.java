package dev.cinch.lease.hold;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.time.TimeSource;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Requests that no answer came for: their leases may have been granted, and whoever asks again
 * would find them held by itself. So they are given back first. Thread-safe.
 */
@CheckReturnValue
public final class LostAnswers {
  private final LeaseService service;
  private final Queue<Id> ids = new ConcurrentLinkedQueue<>();

  /** The last request, if it was refused since others have a lease. */
  private final AtomicReference<Operation.@Nullable Acquire> refused = new AtomicReference<>();

  public LostAnswers(LeaseService service) {
    this.service = service;
  }

  /**
   * Takes leases, after giving back what earlier requests may have been granted.
   *
   * @param request with an id of its own
   */
  public Grant acquire(Operation.Acquire request)
      throws LeaseRefusedException, LeaseUnavailableException {
    try {
      return acquire(request, LeaseService::acquire);
    } catch (InterruptedException e) {
      throw new IllegalStateException("asking does not wait", e);
    }
  }

  /** How a service is asked for leases: at once, or after waiting in its queue. */
  @FunctionalInterface
  public interface Asking {
    /**
     * @throws InterruptedException if the caller gave up; the leases may have been granted
     */
    Grant ask(LeaseService service, Operation.Acquire request)
        throws LeaseRefusedException, LeaseUnavailableException, InterruptedException;

    /** In the queue, for so long at most. */
    static Asking queued(long waitMs) {
      return (service, request) -> service.acquire(request.waiting(waitMs));
    }
  }

  /**
   * As {@link #acquire(Operation.Acquire)}, asking in another way. What is asked for once more goes
   * on with the id that it had, by which the service knows its place in the queue.
   */
  public Grant acquire(Operation.Acquire wanted, Asking asking)
      throws LeaseRefusedException, LeaseUnavailableException, InterruptedException {
    giveBack();
    Operation.Acquire request = again(wanted);
    boolean answered = false;
    try {
      Grant grant = asking.ask(service, request);
      answered = true;
      return grant;
    } catch (LeaseRefusedException e) {
      answered = true;
      if (e.reason() == LeaseRefusedException.Reason.HELD) {
        refused.set(request);
      }
      throw e;
    } finally {
      if (!answered) { // whatever was thrown
        lost(request.id());
      }
    }
  }

  /**
   * Takes leases as {@link #acquire(Operation.Acquire, Asking)}, for all logs, and holds them.
   * Somebody has to keep them: {@link LeaseKeeper#keep}.
   *
   * @param holder who it is, in its own words, for people
   * @param lasting how long the leases last without a renewal
   */
  public HeldLease hold(
      List<LeaseName> names,
      String holder,
      Duration lasting,
      Asking asking,
      TimeSource time,
      LeaseListener listener)
      throws LeaseRefusedException, LeaseUnavailableException, InterruptedException {
    var random = new SecureRandom();
    long ms = lasting.toMillis();
    var request = new Operation.Acquire(Id.random(random), names, holder, ms, LogSet.ALL, false);
    var asked = HeldLease.AskedAt.now(time);
    var held =
        new HeldLease(
            service,
            time,
            HoldSettings.of(ms),
            acquire(request, asking),
            asked,
            () -> LeaseReport.NOTHING,
            listener,
            random);
    try {
      held.renewIfDue(); // the request may have waited
    } catch (LeaseUnavailableException e) {
      lost(held.id());
      throw e;
    }
    return held;
  }

  private Operation.Acquire again(Operation.Acquire wanted) {
    Operation.Acquire before = refused.getAndSet(null);
    if (before == null) {
      return wanted;
    }
    Operation.Acquire again = wanted.withId(before.id());
    return again.waiting(0).equals(before.waiting(0)) ? again : wanted;
  }

  /**
   * Remembers what is to be given back.
   *
   * @param id of a request that was not answered, or of leases under which nothing was written and
   *     whose release was not answered
   */
  public void lost(Id id) {
    ids.add(id);
  }

  /**
   * Gives back what may have been granted.
   *
   * @throws LeaseUnavailableException if the service did not answer for one; this may be called
   *     again
   */
  public void giveBack() throws LeaseUnavailableException {
    for (Id id = ids.peek(); id != null; id = ids.peek()) {
      try {
        service.release(id, LeaseReport.NOTHING);
      } catch (LeaseRefusedException e) {
        // It was not granted, or ran out.
      }
      ids.remove(id);
    }
  }
}
