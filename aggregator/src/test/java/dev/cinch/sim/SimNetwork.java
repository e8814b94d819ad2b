package dev.cinch.sim;

import dev.cinch.lease.AcquireRequest;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.ResumeRequest;
import dev.cinch.lease.Witness;
import dev.cinch.sim.LeaseHost.Request;
import dev.cinch.sim.fs.FaultKind;
import dev.cinch.sim.fs.Faults;
import dev.cinch.sim.fs.Op;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The lease service as one process reaches it: requests and answers may be slow, lost, doubled, or
 * arrive when nobody waits any more.
 */
final class SimNetwork implements LeaseService {
  private static final long TIMEOUT_NANOS = 300_000_000L;
  private static final long LATEST_NANOS = 15_000_000_000L;

  private final World world;
  private final SimProcess process;

  /** Whether it reaches an instance that was thought dead: never, always, or now and then. */
  private final int old;

  /** Whom it asked last, where there are several. */
  private @Nullable LeaseInstance address;

  /** A name that the next request is about; null if it does not say. */
  private @Nullable LeaseName about;

  /** Whether the next request goes there, too. */
  private boolean stays;

  /** Whether the next request is one of those that matter most if they are lost, or come twice. */
  private boolean isRisky;

  SimNetwork(World world, SimProcess process) {
    this.world = world;
    this.process = process;
    // Holders that only meet the old one resume nothing.
    this.old =
        world.plan.restartNanos() > 0 && process.random().oneIn(2) ? 0 : process.random().below(3);
  }

  private <T> T call(Request<T> request) throws LeaseRefusedException, LeaseUnavailableException {
    boolean before = process.setBusy(true);
    try {
      process.enter(Op.RPC);
      Faults faults = world.faults;
      if (faults.strike(FaultKind.RPC_SLOW)) {
        pause(faults.rng().spread(1_000_000, TIMEOUT_NANOS * 4));
      }
      boolean risky = isRisky && world.leases.hasSeveral() && !faults.stopped();
      isRisky = false;
      if (faults.strike(FaultKind.RPC_DOUBLED) || (risky && process.random().oneIn(4))) {
        later(request);
      }
      if (faults.strike(FaultKind.REQUEST_LOST)) {
        if (faults.rng().oneIn(2)) {
          later(request);
        }
        pause(TIMEOUT_NANOS);
        throw new LeaseUnavailableException("no answer", null);
      }
      T answer = send(request);
      world.scheduler.passed(Op.RPC, World.ROOT);
      process.checkAlive();
      if (faults.strike(FaultKind.RPC_SLOW)) {
        pause(faults.rng().spread(1_000_000, TIMEOUT_NANOS * 4));
      }
      if (faults.strike(FaultKind.ANSWER_LOST) || (risky && process.random().oneIn(4))) {
        stays = false;
        address = null; // another one may listen there when it asks again
        pause(TIMEOUT_NANOS);
        throw new LeaseUnavailableException("no answer", null);
      }
      return answer;
    } finally {
      process.setBusy(before);
      process.keeperMayBeDue();
    }
  }

  private <T> T send(Request<T> request) throws LeaseRefusedException, LeaseUnavailableException {
    if (!world.leases.hasSeveral()) {
      return world.leases.send(old == 2 ? process.random().oneIn(2) : old == 1, request);
    }
    LeaseInstance at = address;
    if (at == null || !stays || !at.serves()) {
      LeaseName name = about;
      at =
          name == null
              ? world.leases.address(at, process.random())
              : world.leases.address(at, name, process.random());
      address = at;
    }
    about = null;
    stays = false;
    return world.leases.sendTo(at, request);
  }

  private void pause(long nanos) {
    world.scheduler.sleepUntil(world.scheduler.now() + nanos);
    process.checkAlive();
  }

  /** It arrives once more, and nobody hears the answer. */
  private void later(Request<?> request) {
    if (world.leases.hasSeveral()) {
      world.leases.late(world.faults.rng().spread(100_000, LATEST_NANOS), request);
      return;
    }
    boolean toOld = world.faults.rng().oneIn(2);
    world.leases.in(
        world.faults.rng().spread(100_000, LATEST_NANOS),
        () -> {
          try {
            Object unused = world.leases.send(toOld, request);
          } catch (LeaseRefusedException | LeaseUnavailableException e) {
            world.scheduler.note(Op.NOTE, "service", 0, "refused a late request");
          }
        });
  }

  @Override
  public Grant acquire(AcquireRequest request)
      throws LeaseRefusedException, LeaseUnavailableException {
    about = request.names().get(0);
    return call(s -> noted(s, s.acquire(request)));
  }

  private Grant noted(LeaseService by, Grant grant) {
    world.history.granted(by, grant);
    return grant;
  }

  @Override
  public Grant renew(Id id, long durationMs, LogSet addLogs, LeaseReport report)
      throws LeaseRefusedException, LeaseUnavailableException {
    return told(report, s -> noted(s, s.renew(id, durationMs, addLogs, report)));
  }

  /** One that does not know the grant says so to whoever names another, as a router does. */
  private <T> T told(LeaseReport report, Request<T> request)
      throws LeaseRefusedException, LeaseUnavailableException {
    try {
      return call(request);
    } catch (LeaseRefusedException e) {
      throw e.reason() == Reason.OTHER_SHARD && report.instance().isPresent()
          ? new LeaseRefusedException(
              Reason.OTHER_INSTANCE, String.valueOf(e.getMessage()), e.retryAfterMs())
          : e;
    }
  }

  @Override
  public Grant resume(ResumeRequest request)
      throws LeaseRefusedException, LeaseUnavailableException {
    LeaseInstance at = address;
    Witness newest = request.witnesses().get(0).witness();
    about = newest.name();
    stays =
        at != null
            && at.has(newest.name())
            && at.service().number() != newest.instance(); // it was told so there, at this moment
    address = stays ? at : null;
    isRisky = true;
    return call(s -> noted(s, s.resume(request)));
  }

  @Override
  public Grant upgrade(Id id, long durationMs)
      throws LeaseRefusedException, LeaseUnavailableException {
    return call(s -> noted(s, s.upgrade(id, durationMs)));
  }

  @Override
  public void release(Id id, LeaseReport report)
      throws LeaseRefusedException, LeaseUnavailableException {
    isRisky = true;
    boolean unused =
        told(
            report,
            s -> {
              s.release(id, report);
              world.history.released(s, id);
              return true;
            });
  }

  @Override
  public Optional<LeaseInfo> show(LeaseName name) throws LeaseUnavailableException {
    try {
      return call(s -> s.show(name));
    } catch (LeaseRefusedException e) {
      throw new LeaseUnavailableException(String.valueOf(e.getMessage()), e);
    }
  }

  @Override
  public List<LeaseInfo> list(String prefix, Optional<LeaseName> after, int limit)
      throws LeaseUnavailableException {
    try {
      return call(s -> s.list(prefix, after, limit));
    } catch (LeaseRefusedException e) {
      throw new LeaseUnavailableException(String.valueOf(e.getMessage()), e);
    }
  }

  @Override
  public long now() throws LeaseUnavailableException {
    try {
      return call(s -> s.now());
    } catch (LeaseRefusedException e) {
      throw new LeaseUnavailableException(String.valueOf(e.getMessage()), e);
    }
  }
}
