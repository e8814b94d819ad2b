package dev.cinch.lease;

import com.google.errorprone.annotations.CheckReturnValue;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/**
 * Hands out leases. Every backend implements it, and the HTTP client does too, so that callers need
 * not know which one they have.
 *
 * <p>Thread-safe. Every call may be sent again after an error that leaves its outcome unknown: the
 * request's secret id makes it the same request. All operations on a grant are all or nothing.
 */
@CheckReturnValue
public interface LeaseService {
  /** The most operations that are asked for at once. */
  int MAX_OPERATIONS = 1_000;

  /** The longest that a request waits for leases that others hold, milliseconds. */
  long MAX_WAIT_MS = 60_000;

  /**
   * Takes leases.
   *
   * @throws LeaseRefusedException when one of them is held, or the service may not grant now
   * @throws LeaseUnavailableException when no answer came; the leases may have been granted
   */
  Grant acquire(AcquireRequest request) throws LeaseRefusedException, LeaseUnavailableException;

  /**
   * Prolongs the leases of a grant, and adds logs to them.
   *
   * @param id the grant's secret
   * @param durationMs from now, 1 to the longest lease time; an expiry never moves back
   * @param addLogs logs to add, or all; the leases then name at most {@link Grant#MAX_LOGS} logs
   *     together, or all
   * @param report what was written
   */
  Grant renew(Id id, long durationMs, LogSet addLogs, LeaseReport report)
      throws LeaseRefusedException, LeaseUnavailableException;

  /**
   * Goes on with leases that an earlier instance signed: they keep their correlations and bounds,
   * and nothing has to be fenced (rule L10). Renewals and releases name this instance from then on.
   * Not to be sent once a release was.
   *
   * @throws LeaseRefusedException {@code NOT_HELD} if they can't be resumed, now or later; {@code
   *     NOT_YET} if it may be asked again, or if they may be renewed where they are
   * @throws LeaseUnavailableException when no answer came; it may be asked again, or the leases may
   *     be renewed where they are
   */
  Grant resume(ResumeRequest request) throws LeaseRefusedException, LeaseUnavailableException;

  /** Makes the tentative leases of a grant full; refused if one was broken meanwhile. */
  Grant upgrade(Id id, long durationMs) throws LeaseRefusedException, LeaseUnavailableException;

  /**
   * Gives the leases of a grant back. Only after every append under them has its verdict (rule L2).
   * Repeating it is no error.
   */
  void release(Id id, LeaseReport report) throws LeaseRefusedException, LeaseUnavailableException;

  /**
   * As {@link #release}, for a holder that can resume the leases at another server of the service:
   * it is not sent to that one instead, which does not know them (rule L13).
   *
   * @throws LeaseNotSentException if nobody is there any more, and another server is asked next
   */
  default void releaseHere(Id id, LeaseReport report)
      throws LeaseRefusedException, LeaseUnavailableException {
    release(id, report);
  }

  /**
   * Carries out operations one after the other, each as if it had been asked for alone: one that is
   * refused changes nothing for the others. Witnesses of all of them may share a signature.
   *
   * @param operations at most {@link #MAX_OPERATIONS}
   * @return one for each, in the same order. At least one, and fewer than asked for where their
   *     witnesses are too many for one answer: the rest was not carried out
   * @throws LeaseUnavailableException when no answer came; any of them may have been carried out
   */
  default List<Outcome> carryOut(List<Operation> operations) throws LeaseUnavailableException {
    var outcomes = new ArrayList<Outcome>(operations.size());
    for (Operation operation : operations) {
      Outcome outcome;
      try {
        outcome = operation.on(this);
      } catch (LeaseRefusedException e) {
        outcome = new Outcome.Refused(e);
      }
      outcomes.add(outcome);
    }
    return outcomes;
  }

  /**
   * The same for callers that must not wait, and for several requests at once. An operation for
   * which a file or another machine would have to be asked is not begun, nor are those behind it in
   * its request: they are to be carried out in their order.
   *
   * @return for each request what became of its first operations; of all of them, or those before
   *     one to be asked for by {@link #carryOut}
   */
  default List<List<Outcome>> carryOutNow(List<List<Operation>> requests) {
    return Collections.nCopies(requests.size(), List.of());
  }

  /**
   * Prolongs a lease no more, for an operator who says why: its name is granted again once it has
   * expired, with its expiry as a fence, or when its holder gives it back (rule L15). Repeating it
   * is no error.
   *
   * @throws LeaseRefusedException {@code NOT_HELD} if no full lease, or not the one meant, is held;
   *     {@code INVALID} by services that can't; {@code NOT_YET} if the store does not answer, and
   *     then the lease may be revoked or not
   * @throws LeaseUnavailableException when no answer came; likewise
   */
  default Revoked revoke(RevokeRequest request)
      throws LeaseRefusedException, LeaseUnavailableException {
    throw new LeaseRefusedException(
        LeaseRefusedException.Reason.INVALID, "this lease service revokes no leases", 0);
  }

  /**
   * As {@link #acquire(AcquireRequest)}, and waits while another holder has one of the names. Those
   * who wait for a name get it in the order in which they came. The grant may be as old as the
   * call: deadlines are measured from before it.
   *
   * @param waitMs how long at most, 0 to {@link #MAX_WAIT_MS}; services that can't wait answer at
   *     once
   */
  default Grant acquire(AcquireRequest request, long waitMs)
      throws LeaseRefusedException, LeaseUnavailableException {
    return acquire(request);
  }

  /**
   * Has a listener told of changes from now on, for as long as the service lasts.
   *
   * @return whether it will be; services that are elsewhere don't
   */
  default boolean listen(LeaseListener listener) {
    return false;
  }

  /**
   * Why listeners are told nothing at present of what others do; empty if they are. A service that
   * is one of several machines may be cut off from the others. Never waits.
   */
  default Optional<LeaseRefusedException> deafness() {
    return Optional.empty();
  }

  /**
   * How often requests have begun to go to another server of the service, for a holder: the next
   * one knows its leases once they were resumed there. It has to be done before they are released,
   * since it must not be afterwards (rule L13). 0 for ever of services that have one server.
   */
  default long moves() {
    return 0;
  }

  /** What is known about a name. */
  Optional<LeaseInfo> show(LeaseName name) throws LeaseUnavailableException;

  /**
   * What is known about names, in ascending order. A page may have fewer names than asked for: it
   * ends where it would take more than about 1 MiB as JSON. An empty one says that there are no
   * more.
   *
   * @param prefix of the names
   * @param after names above this one only; empty for the first page
   * @param limit at most so many, 1 to 10,000
   */
  List<LeaseInfo> list(String prefix, Optional<LeaseName> after, int limit)
      throws LeaseUnavailableException;

  /** Which servers have which names, where several share a store (rule L16). */
  default ShardServers shards() throws LeaseUnavailableException {
    return ShardServers.ALONE;
  }

  /**
   * The service's signed time, nanoseconds since the Unix epoch: a third opinion on what time it is
   * (section 5).
   */
  long now() throws LeaseUnavailableException;
}
