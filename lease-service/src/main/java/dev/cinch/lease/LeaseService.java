package dev.cinch.lease;

import com.google.errorprone.annotations.CheckReturnValue;
import java.util.List;
import java.util.Optional;

/**
 * Hands out leases. Every backend implements it, and the HTTP client does too, so that callers need
 * not know which one they have. It carries out {@link Operation}s; what else asks for one is here,
 * and the same for all.
 *
 * <p>Thread-safe. Every call may be sent again after an error that leaves its outcome unknown: the
 * request's secret id makes it the same request.
 */
@CheckReturnValue
public interface LeaseService {
  /** The most operations that are asked for at once. */
  int MAX_OPERATIONS = 1_000;

  /** The longest that a request waits for leases that others hold, milliseconds. */
  long MAX_WAIT_MS = 60_000;

  /**
   * Carries out operations one after the other, each as if it had been asked for alone: one that is
   * refused changes nothing for the others. Witnesses of all of them may share a signature.
   *
   * @param operations at most {@link #MAX_OPERATIONS}
   * @return one for each, in the same order. At least one, and fewer than asked for where their
   *     witnesses are too many for one answer: the rest was not carried out
   * @throws LeaseUnavailableException when no answer came; any of them may have been carried out
   */
  List<Outcome> carryOut(List<Operation> operations) throws LeaseUnavailableException;

  /** Carries out one operation; as {@link #carryOut(List)}. */
  default Outcome carryOut(Operation operation) throws LeaseUnavailableException {
    return carryOut(List.of(operation)).get(0);
  }

  /**
   * {@link Operation.Acquire}.
   *
   * @throws LeaseRefusedException when one of the leases is held, or the service may not grant now
   * @throws LeaseUnavailableException when no answer came; the leases may have been granted
   */
  default Grant acquire(Operation.Acquire request)
      throws LeaseRefusedException, LeaseUnavailableException {
    return carryOut(request).grant();
  }

  /** {@link Operation.Renew}. */
  default Grant renew(Id id, long durationMs, LogSet addLogs, LeaseReport report)
      throws LeaseRefusedException, LeaseUnavailableException {
    return carryOut(new Operation.Renew(id, durationMs, addLogs, report)).grant();
  }

  /**
   * {@link Operation.Resume}.
   *
   * @throws LeaseUnavailableException when no answer came; it may be asked again, or the leases may
   *     be renewed where they are
   */
  default Grant resume(Operation.Resume request)
      throws LeaseRefusedException, LeaseUnavailableException {
    return carryOut(request).grant();
  }

  /** {@link Operation.Upgrade}. */
  default Grant upgrade(Id id, long durationMs)
      throws LeaseRefusedException, LeaseUnavailableException {
    return carryOut(new Operation.Upgrade(id, durationMs)).grant();
  }

  /** {@link Operation.Release}. Repeating it is no error. */
  default void release(Id id, LeaseReport report)
      throws LeaseRefusedException, LeaseUnavailableException {
    carryOut(new Operation.Release(id, report)).requireDone();
  }

  /** {@link Operation.Revoke}. */
  default Outcome.Revoked revoke(Operation.Revoke request)
      throws LeaseRefusedException, LeaseUnavailableException {
    Outcome outcome = carryOut(request);
    outcome.requireDone();
    return (Outcome.Revoked) outcome;
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
