package dev.cinch.lease.hold;

import dev.cinch.lease.AcquireRequest;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.ResumeRequest;
import java.util.List;
import java.util.Optional;

/** Another service, for tests that change one call of it. */
public class ForwardingLeases implements LeaseService {
  private final LeaseService service;

  public ForwardingLeases(LeaseService service) {
    this.service = service;
  }

  /** Who is asked. */
  protected LeaseService service() throws LeaseUnavailableException {
    return service;
  }

  @Override
  public Grant acquire(AcquireRequest request)
      throws LeaseRefusedException, LeaseUnavailableException {
    return service().acquire(request);
  }

  @Override
  public Grant renew(Id id, long durationMs, LogSet addLogs, LeaseReport report)
      throws LeaseRefusedException, LeaseUnavailableException {
    return service().renew(id, durationMs, addLogs, report);
  }

  @Override
  public Grant resume(ResumeRequest request)
      throws LeaseRefusedException, LeaseUnavailableException {
    return service().resume(request);
  }

  @Override
  public Grant upgrade(Id id, long durationMs)
      throws LeaseRefusedException, LeaseUnavailableException {
    return service().upgrade(id, durationMs);
  }

  @Override
  public void release(Id id, LeaseReport report)
      throws LeaseRefusedException, LeaseUnavailableException {
    service().release(id, report);
  }

  @Override
  public Optional<LeaseInfo> show(LeaseName name) throws LeaseUnavailableException {
    return service().show(name);
  }

  @Override
  public List<LeaseInfo> list(String prefix, Optional<LeaseName> after, int limit)
      throws LeaseUnavailableException {
    return service().list(prefix, after, limit);
  }

  @Override
  public long now() throws LeaseUnavailableException {
    return service().now();
  }
}
