package dev.cinch.lease;

import com.google.errorprone.annotations.CheckReturnValue;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;

/**
 * What a {@link LeaseService} can be asked for: the one vocabulary of clients, wires, servers and
 * backends. Each is all or nothing. Immutable and thread-safe.
 */
@CheckReturnValue
public sealed interface Operation {
  /** One that is about leases of a secret: whoever knows it, and has the right to them, may ask. */
  sealed interface Secret extends Operation {
    /** The secret id of the request or grant. Sending it again is the same request. */
    Id id();
  }

  /** Which leases whoever asks has a right to. Thread-safe, and quick. */
  @FunctionalInterface
  interface Scope {
    /** All. */
    Scope ALL = names -> {};

    /**
     * Called before anything is changed.
     *
     * @param names of all leases of a grant
     * @throws LeaseRefusedException {@code FORBIDDEN} if one of them is none of these
     */
    void require(List<LeaseName> names) throws LeaseRefusedException;
  }

  /**
   * The same, asked for by somebody with a right to some leases: only what keeps the grants knows
   * which ones some operations are about.
   */
  default Operation within(Scope scope) {
    return this;
  }

  /**
   * Takes leases: {@code HELD} when others have one of them.
   *
   * <p>One that waits is granted its leases in the order in which those came who wait for a name.
   * The grant may be as old as the call: deadlines are measured from before it.
   *
   * @param id secret, drawn by the client for this request
   * @param names 1 to 1,000 different names; the service takes them in ascending order
   * @param holder who asks, at most 255 bytes of UTF-8; shown to others, so none of {@link
   *     OneLine#isHidden}
   * @param durationMs how long the leases last from when the service grants them, 1 to the longest
   *     lease time
   * @param logs the logs to be written to: all, or at most 1,000, and {@code names} times {@code
   *     logs} at most {@link Grant#MAX_LOGS}; services refuse more
   * @param tentative whether to ask for tentative leases
   * @param waitMs how long it waits while others have one of the names, 0 to {@link
   *     LeaseService#MAX_WAIT_MS}; services that can't wait, and those that are asked for several
   *     operations at once, answer at once
   */
  record Acquire(
      Id id,
      List<LeaseName> names,
      String holder,
      long durationMs,
      LogSet logs,
      boolean tentative,
      long waitMs)
      implements Secret {
    /** The most names that one request may have. */
    public static final int MAX_NAMES = 1_000;

    /**
     * @throws IllegalArgumentException if the holder has what people could not see, or it is to
     *     wait for too long
     */
    public Acquire {
      OneLine.check("the holder", holder);
      names = List.copyOf(names);
      if (waitMs < 0 || waitMs > LeaseService.MAX_WAIT_MS) {
        throw new IllegalArgumentException(
            "a request waits 0 to " + LeaseService.MAX_WAIT_MS + " ms, not " + waitMs);
      }
    }

    /** One that does not wait. */
    public Acquire(
        Id id,
        List<LeaseName> names,
        String holder,
        long durationMs,
        LogSet logs,
        boolean tentative) {
      this(id, names, holder, durationMs, logs, tentative, 0);
    }

    /** The same request by another secret id. */
    public Acquire withId(Id other) {
      return new Acquire(other, names, holder, durationMs, logs, tentative, waitMs);
    }

    /** The same request, waiting so long at most. */
    public Acquire waiting(long ms) {
      return new Acquire(id, names, holder, durationMs, logs, tentative, ms);
    }
  }

  /**
   * Prolongs the leases of a grant, and adds logs to them.
   *
   * @param durationMs from now, 1 to the longest lease time; an expiry never moves back
   * @param addLogs logs to add, or all; the leases then name at most {@link Grant#MAX_LOGS} logs
   *     together, or all
   * @param report what was written
   * @param scope which leases whoever asks has a right to; never sent
   */
  record Renew(Id id, long durationMs, LogSet addLogs, LeaseReport report, Scope scope)
      implements Secret {
    /** By somebody with a right to all. */
    public Renew(Id id, long durationMs, LogSet addLogs, LeaseReport report) {
      this(id, durationMs, addLogs, report, Scope.ALL);
    }

    @Override
    public Operation within(Scope others) {
      return new Renew(id, durationMs, addLogs, report, others);
    }
  }

  /**
   * Goes on with leases that an earlier instance signed: they keep their correlations and bounds,
   * and nothing has to be fenced (rule L10). Renewals and releases name this instance from then on.
   * Not to be sent once a release was.
   *
   * <p>Refused as {@code NOT_HELD} if they can't be resumed, now or later; as {@code NOT_YET} if it
   * may be asked again, or if they may be renewed where they are.
   *
   * @param id the secret of the grant
   * @param witnesses the newest ones of the grant, one a name, all of one instance
   * @param durationMs how long the leases last from when the service resumes them, 1 to the longest
   *     lease time
   */
  record Resume(Id id, List<SignedWitness> witnesses, long durationMs) implements Secret {
    public Resume {
      witnesses = List.copyOf(witnesses);
    }
  }

  /**
   * Makes the tentative leases of a grant full; refused if one was broken meanwhile.
   *
   * @param durationMs from now, 1 to the longest lease time
   * @param scope which leases whoever asks has a right to; never sent
   */
  record Upgrade(Id id, long durationMs, Scope scope) implements Secret {
    /** By somebody with a right to all. */
    public Upgrade(Id id, long durationMs) {
      this(id, durationMs, Scope.ALL);
    }

    @Override
    public Operation within(Scope others) {
      return new Upgrade(id, durationMs, others);
    }
  }

  /**
   * Gives the leases of a grant back. Only after every append under them has its verdict (rule L2).
   *
   * @param report what was written
   * @param scope which leases whoever asks has a right to; never sent
   */
  record Release(Id id, LeaseReport report, Scope scope) implements Secret {
    /** By somebody with a right to all. */
    public Release(Id id, LeaseReport report) {
      this(id, report, Scope.ALL);
    }

    @Override
    public Operation within(Scope others) {
      return new Release(id, report, others);
    }
  }

  /**
   * Prolongs a lease no more, for an operator who says why: its name is granted again once it has
   * expired, with its expiry as a fence, or when its holder gives it back (rule L15). Repeating it
   * is no error.
   *
   * <p>Refused as {@code NOT_HELD} if no full lease, or not the one meant, is held; as {@code
   * NOT_YET} if the store does not answer, and then the lease may be revoked or not.
   *
   * @param name the lease's
   * @param reason one line for people, 1 to {@link #MAX_REASON_BYTES} bytes of UTF-8
   * @param correlation of the lease that is meant; empty: whichever is held when this comes
   */
  record Revoke(LeaseName name, String reason, Optional<Id> correlation) implements Operation {
    /** The longest reason, in bytes of UTF-8. */
    public static final int MAX_REASON_BYTES = 255;

    /**
     * @throws IllegalArgumentException if the reason is empty, too long, or has a character that
     *     can't be shown
     */
    public Revoke {
      OneLine.check("the reason", reason);
      int bytes = reason.getBytes(StandardCharsets.UTF_8).length;
      if (reason.isBlank() || bytes > MAX_REASON_BYTES || !OneLine.fits(reason)) {
        throw new IllegalArgumentException(
            "a reason is one line of 1 to " + MAX_REASON_BYTES + " bytes");
      }
    }
  }
}
