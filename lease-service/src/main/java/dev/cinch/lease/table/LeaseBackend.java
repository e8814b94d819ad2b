package dev.cinch.lease.table;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.ChangeListener;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.Witness;
import dev.cinch.lease.table.LeaseBackend.Tenure;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.LongSupplier;

/**
 * Where a lease service keeps who has which lease. The service has looked at the request, the
 * clocks, its number and its ceilings; the backend applies {@link LeaseRules} to what it keeps, and
 * says what is to be signed. Thread-safe.
 *
 * <p>{@code now} is the service's time; callers may bring it out of order. {@code ceiling} is the
 * highest expiry that may be signed (rule L3). Witnesses are in ascending order of names.
 *
 * <p>Any operation may refuse as {@code NOT_YET} where what it keeps can't be reached; then it was
 * not carried out. If it may have been there is an {@link UnansweredException}, and asking again
 * with the same id is the same request.
 */
@CheckReturnValue
public interface LeaseBackend {
  /** Makes a backend once the service knows which instance it is. */
  @FunctionalInterface
  interface Factory {
    LeaseBackend create(Setting setting);
  }

  /**
   * What a service tells its backend.
   *
   * @param instance its number, from 1
   * @param store that it serves, or {@link dev.cinch.lease.Correlation#NO_STORE}
   * @param origin what names never seen inherit (rule L3)
   * @param watermarks which are refused
   * @param metadataKept how many entries a lease keeps at most
   * @param time the service's time when it is asked for, as {@code now}; quick, and thread-safe
   */
  record Setting(
      long instance,
      Id store,
      Inheritance origin,
      WatermarkRule watermarks,
      int metadataKept,
      LongSupplier time) {}

  /**
   * Whether operations never wait for another machine, so that the thread which reads all
   * connections may.
   */
  default boolean isImmediate() {
    return true;
  }

  /**
   * Grants leases, or repeats the grant of the same request.
   *
   * @throws UnendedException if leases are to be ended first; then {@link #ended}, and ask again
   */
  List<Witness> acquire(Operation.Acquire request, Moment now, long ceiling)
      throws LeaseRefusedException, UnendedException;

  /**
   * Refuses a new request for a name that is known to be held, before anything is published for it
   * that a later instance would have to wait for. A hint.
   */
  void requireFree(Operation.Acquire request, Moment now) throws LeaseRefusedException;

  /**
   * Whether a later instance may resume its leases (rule L10). If so, ends in the store say whose
   * they are (rule L11).
   */
  default boolean isResumable() {
    return true;
  }

  /** Takes note that no other instance will ever resume these (rule L11). */
  default void ended(List<Tenure> tenures) throws LeaseRefusedException {}

  /** Prolongs the leases of a grant; tentative ones stay so. */
  List<Witness> renew(Operation.Renew renew, Moment now, long ceiling) throws LeaseRefusedException;

  /** Makes the leases of a grant full. */
  List<Witness> upgrade(Operation.Upgrade upgrade, Moment now, long ceiling)
      throws LeaseRefusedException;

  /**
   * Gives the leases of a grant back; one that is not known is not granted when it comes.
   *
   * @return of those that were given back; none if they were before
   */
  List<Witness> release(Operation.Release release, Moment now) throws LeaseRefusedException;

  /** Whether the witnesses are of leases that this backend itself keeps, at another machine. */
  default boolean isShared(Operation.Resume request) {
    return false;
  }

  /**
   * Goes on with leases of an earlier instance, or repeats that (rule L10).
   *
   * @param ended whether their ends are this instance's by now
   * @return empty if their ends have to be brought about first
   */
  Optional<List<Witness>> resume(Operation.Resume request, boolean ended, Moment now, long ceiling)
      throws LeaseRefusedException;

  /**
   * What a revocation of a lease that is held would say, or what is said of it already (L15).
   *
   * @throws LeaseRefusedException {@code NOT_HELD} if there is nothing to revoke
   */
  Revocation revocable(Operation.Revoke request, Moment now) throws LeaseRefusedException;

  /**
   * Prolongs a lease no more, which no later instance resumes.
   *
   * @return its expiry; the present time if it is over
   */
  long revoked(Revocation revocation, long now) throws LeaseRefusedException;

  /** Refuses what {@link #renew} and {@link #upgrade} would for want of a grant, likewise. */
  void requireKnown(Id id, LeaseReport report) throws LeaseRefusedException;

  /**
   * Whether this instance has granted them all, or goes on with them, or was given them back: so
   * that no lease of an earlier one is in the way, as far as it knows by itself.
   */
  boolean knows(List<LeaseName> names, Moment now);

  /** Whether one was resumed here, and is over, and its holder may go by an earlier instance. */
  default boolean isResumedUntilPast(List<LeaseName> names, Moment now) {
    return false;
  }

  /**
   * The {@link LastWords} of this instance (rule L19), once nothing is asked for any more; empty
   * where they are too many, or the leases outlive it anyway.
   *
   * @param longest lease that was granted, here or before; nanoseconds
   */
  default Optional<byte[]> lastWords(Moment now, long longest) {
    return Optional.empty();
  }

  /** Whether a grant of this id was made here, and is remembered. */
  boolean knows(Id id);

  /** What is known about a name. */
  Optional<LeaseInfo> show(LeaseName name, Moment now) throws LeaseRefusedException;

  /** A page of names; names that come and go meanwhile may or may not be in it. */
  List<LeaseInfo> list(String prefix, Optional<LeaseName> after, int limit, Moment now)
      throws LeaseRefusedException;

  /** Has one more listener told of changes. */
  void listen(ChangeListener listener);

  /**
   * Why nothing that takes other machines can be done, as {@link #probe} found it; empty if it can,
   * and before that was called. Never waits.
   */
  default Optional<LeaseRefusedException> obstacle() {
    return Optional.empty();
  }

  /** Begins to find out whether as many machines as it takes can be reached; does not wait. */
  default void probe() {}

  /** Whether listeners are told at present of all that is done. */
  default boolean hears() {
    return obstacle().isEmpty();
  }

  /**
   * How many leases are held, tentative or revoked, and not over by the time that is given; empty
   * where nobody knows without asking others. May go over all of them.
   */
  default OptionalLong countHeld(Moment now) {
    return OptionalLong.empty();
  }

  /** Forgets what is long over; called about every second. */
  void sweep(long now);

  /** How many ids of grants are remembered, ended ones included. */
  int grantsRemembered();

  /**
   * A full lease that was not released, as its instance remembers it (rule L11).
   *
   * @param name the lease's
   * @param correlation of the lease, which is of one name only
   */
  record Tenure(String name, Id correlation) {}

  /**
   * Leases have to be ended before what was asked for can be done, so that no later instance
   * resumes them (rule L11). Never leaves a service.
   */
  final class UnendedException extends Exception {
    private static final long serialVersionUID = 1;

    private final transient List<Tenure> tenures;

    /**
     * @param tenures at least one; each has expired
     */
    public UnendedException(List<Tenure> tenures) {
      super("leases to be ended first", null, false, false);
      this.tenures = List.copyOf(tenures);
    }

    public List<Tenure> tenures() {
      return tenures;
    }
  }

  /** Too few machines answered: what was asked for may have been done. */
  final class UnansweredException extends RuntimeException {

    /**
     * @param message one line
     */
    public UnansweredException(String message) {
      super(message);
    }
  }
}
