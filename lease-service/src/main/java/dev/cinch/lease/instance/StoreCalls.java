package dev.cinch.lease.instance;

import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.instance.InstanceRegistry.End;
import dev.cinch.lease.rules.Unreleased;
import dev.cinch.lease.witness.TrustedKeys;
import java.util.List;

/**
 * What is done in the store for operations, each of which says what it needs and is begun anew once
 * that was met: so no operation does I/O. The methods may take as long as the store does, and are
 * called by one thread at a time. They refuse as {@code NOT_YET} when the store can't be reached.
 */
interface StoreCalls {
  /** What an operation needs. */
  @FunctionalInterface
  interface Need {
    void meet(StoreCalls store) throws LeaseRefusedException;
  }

  /** An operation can't go on before its need was met; nothing was changed. */
  final class StoreNeededException extends Exception {
    private static final long serialVersionUID = 1;

    private final transient Need need;
    private final Kind kind;

    /** What the store's thread does first, and what an operation can do without. */
    enum Kind {
      /** A ceiling: others than this operation lose leases without it. */
      CEILING,
      /** A look at the clock, without which the operation goes on if it takes long. */
      CLOCK,
      /** What concerns single leases. */
      LEASES
    }

    StoreNeededException(Kind kind, Need need) {
      // Without a stack: it is no error, and nobody looks at where it came from.
      super("the store is needed", null, false, false);
      this.need = need;
      this.kind = kind;
    }

    Need need() {
      return need;
    }

    /** Whether the operation goes on without, if the store does not answer soon. */
    boolean isOptional() {
      return kind == Kind.CLOCK;
    }

    /** Whether it comes before what concerns single leases. */
    boolean isUrgent() {
      return kind != Kind.LEASES;
    }
  }

  /**
   * Publishes a ceiling at or above an expiry, nanoseconds since the Unix epoch, unless there is
   * one. Before that it looks for a later instance if this one was paused, and compares the clock
   * if that is due (rules L3, L9, L18).
   */
  void cover(long expiry) throws LeaseRefusedException;

  /** Compares a clock that was set with the store's, unless that has just failed (rule L6). */
  void compareClock();

  /**
   * Ends leases of this instance that have expired or are revoked, so that no later one resumes
   * them (rule L11).
   *
   * @throws LeaseRefusedException {@code SUPERSEDED} if one goes on elsewhere
   */
  void end(List<Unreleased> leases) throws LeaseRefusedException;

  /**
   * Ends leases of an earlier instance, so that they go on here (rules L10, L11).
   *
   * @throws LeaseRefusedException {@code NOT_HELD} if another instance ended one
   */
  void takeOver(List<End> ends) throws LeaseRefusedException;

  /** The keys whose witnesses of earlier instances count (rule F3). */
  TrustedKeys trustedKeys() throws LeaseRefusedException;

  /**
   * Keeps that a lease of this instance is revoked (rule L15).
   *
   * @return what stands there
   */
  Revocation keep(Revocation revocation) throws LeaseRefusedException;
}
