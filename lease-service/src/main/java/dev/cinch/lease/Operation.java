package dev.cinch.lease;

import com.google.errorprone.annotations.CheckReturnValue;

/**
 * One operation of a {@link LeaseService} as a value, so that many can be asked for at once. Each
 * has the arguments of the method of the same name. Immutable and thread-safe.
 */
@CheckReturnValue
public sealed interface Operation {
  /** The secret id of the request or grant that it is about. */
  Id id();

  /**
   * Asks a service for this alone.
   *
   * @return what was granted or done; a refusal is thrown
   */
  Outcome on(LeaseService service) throws LeaseRefusedException, LeaseUnavailableException;

  /** {@link LeaseService#acquire}. */
  record Acquire(AcquireRequest request) implements Operation {
    @Override
    public Id id() {
      return request.id();
    }

    @Override
    public Outcome on(LeaseService service)
        throws LeaseRefusedException, LeaseUnavailableException {
      return new Outcome.Granted(service.acquire(request));
    }
  }

  /** {@link LeaseService#renew}. */
  record Renew(Id id, long durationMs, LogSet addLogs, LeaseReport report) implements Operation {
    @Override
    public Outcome on(LeaseService service)
        throws LeaseRefusedException, LeaseUnavailableException {
      return new Outcome.Granted(service.renew(id, durationMs, addLogs, report));
    }
  }

  /** {@link LeaseService#resume}. */
  record Resume(ResumeRequest request) implements Operation {
    @Override
    public Id id() {
      return request.id();
    }

    @Override
    public Outcome on(LeaseService service)
        throws LeaseRefusedException, LeaseUnavailableException {
      return new Outcome.Granted(service.resume(request));
    }
  }

  /** {@link LeaseService#upgrade}. */
  record Upgrade(Id id, long durationMs) implements Operation {
    @Override
    public Outcome on(LeaseService service)
        throws LeaseRefusedException, LeaseUnavailableException {
      return new Outcome.Granted(service.upgrade(id, durationMs));
    }
  }

  /** {@link LeaseService#release}. */
  record Release(Id id, LeaseReport report) implements Operation {
    @Override
    public Outcome on(LeaseService service)
        throws LeaseRefusedException, LeaseUnavailableException {
      service.release(id, report);
      return Outcome.RELEASED;
    }
  }
}
