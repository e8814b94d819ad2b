package dev.cinch.sim;

import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.Witness;
import dev.cinch.sim.LeaseHost.Request;
import dev.cinch.sim.fs.FaultKind;
import dev.cinch.sim.fs.Faults;
import dev.cinch.sim.fs.Op;
import java.util.ArrayList;
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
  public List<Outcome> carryOut(List<Operation> operations) throws LeaseUnavailableException {
    var outcomes = new ArrayList<Outcome>();
    for (Operation operation : operations) {
      outcomes.add(one(operation));
    }
    return outcomes;
  }

  private Outcome one(Operation operation) throws LeaseUnavailableException {
    LeaseReport report = LeaseReport.NOTHING;
    if (operation instanceof Operation.Acquire acquire) {
      about = acquire.names().get(0);
    } else if (operation instanceof Operation.Renew renew) {
      report = renew.report();
    } else if (operation instanceof Operation.Resume resume) {
      aim(resume.witnesses().get(0).witness());
      isRisky = true;
    } else if (operation instanceof Operation.Release release) {
      report = release.report();
      isRisky = true;
    }
    try {
      return call(s -> done(s, operation));
    } catch (LeaseRefusedException e) {
      // One that does not know the grant says so to whoever names another, as a router does.
      return new Outcome.Refused(
          e.reason() == Reason.OTHER_SHARD && report.instance().isPresent()
              ? new LeaseRefusedException(
                  Reason.OTHER_INSTANCE, String.valueOf(e.getMessage()), e.retryAfterMs())
              : e);
    }
  }

  private Outcome done(LeaseService by, Operation operation)
      throws LeaseRefusedException, LeaseUnavailableException {
    Outcome outcome = by.carryOut(operation);
    outcome.requireDone();
    if (outcome instanceof Outcome.Granted granted) {
      world.history.granted(by, granted.grant());
    } else if (operation instanceof Operation.Release release) {
      world.history.released(by, release.id());
    }
    return outcome;
  }

  /** A resume goes where it was told so, at this moment. */
  private void aim(Witness newest) {
    LeaseInstance at = address;
    about = newest.name();
    stays = at != null && at.has(newest.name()) && at.service().number() != newest.instance();
    address = stays ? at : null;
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
