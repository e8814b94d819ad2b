package dev.cinch.lease.register.sim;

import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.hold.HoldSettings;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.sim.SimClock;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Somebody who takes leases, writes under them, and gives them back or not. */
final class User {
  private static final List<Id> LOGS = List.of(new Id(0, 1), new Id(0, 2), new Id(0, 3));

  /** So often a request is sent again, perhaps to another server. */
  private static final int TRIES = 6;

  private static final long SHORTEST_MS = 100;

  private final World world;
  private final int number;

  /** By which it counts how long it holds. */
  private final SimClock monotonic;

  private final long off;
  private int server;

  /** What it waits for; an answer to anything before is ignored. */
  private long waitsFor;

  private boolean rests;
  private Operation.Acquire request;

  /** When that was sent first, by the monotonic clock. */
  private long asked;

  /** Of what is held, in the order of names. */
  private List<SignedWitness> held = List.of();

  private long written;

  /** Whether the horizon has passed the fence of what is held. */
  private boolean fenced;

  /** What a server does for it. */
  private interface Call {
    Optional<Grant> on(ServiceInstance service)
        throws LeaseRefusedException, LeaseUnavailableException;
  }

  User(World world, int number) {
    this.world = world;
    this.number = number;
    this.off = world.anyOffset();
    double rho = world.plan.rateErrorPpm() / 1e6;
    this.monotonic = new SimClock(0, 0, number % 2 == 0 ? 1 - rho : 1 + rho);
    this.request = next();
  }

  private long longest() {
    return world.plan.longest();
  }

  private long clock() {
    return SimClock.EPOCH + world.time + off;
  }

  /** Asks for nothing new any more. */
  void rest() {
    rests = true;
  }

  void begin() {
    in(world.rng.between(0, longest() / 2), this::ask);
  }

  /** Waits for nothing else meanwhile. */
  private long in(long nanos, Runnable what) {
    long n = ++waitsFor;
    world.in(nanos, () -> ifWaiting(n, what));
    return n;
  }

  private void ifWaiting(long n, Runnable what) {
    if (waitsFor == n) {
      what.run();
    }
  }

  private Operation.Acquire next() {
    Plan plan = world.plan;
    int any = world.rng.below(plan.names());
    int first = world.isCalm() && world.rng.chance(0.5) ? world.judge.orNotGranted(any) : any;
    int count = world.rng.chance(plan.several()) ? 1 + world.rng.below(plan.names()) : 1;
    List<LeaseName> names =
        IntStream.range(0, count)
            .mapToObj(i -> world.names.get((first + i) % plan.names()))
            .toList();
    LogSet logs =
        world.rng.chance(0.1)
            ? LogSet.ALL
            : LogSet.of(List.of(LOGS.get(world.rng.below(LOGS.size()))));
    return new Operation.Acquire(
        Id.random(world.rng),
        names,
        "user " + number,
        duration(),
        logs,
        world.rng.chance(plan.tentative()));
  }

  private long duration() {
    long longest = world.plan.longestMs();
    return world.rng.chance(0.3) ? longest : world.rng.between(SHORTEST_MS, longest);
  }

  /** Asks for leases. */
  private void ask() {
    if (rests) {
      return;
    }
    world.judge.letGo(request.id());
    held = List.of();
    written = Long.MIN_VALUE;
    fenced = false;
    request = next();
    asked = sent();
    acquire(TRIES);
  }

  private long sent() {
    return monotonic.read(world.time);
  }

  /** It holds what it has for as long as it asked for, from when it did (rules L5 and L18). */
  private void holds(long from, long durationMs) {
    if (!isTentative()) {
      int drift = world.plan.rateErrorPpm() / 1_000;
      long safe = new HoldSettings(durationMs, drift, 0, 1).safeNanos();
      world.judge.holds(request.id(), held, monotonic.when(from + safe));
    }
  }

  private void acquire(int tries) {
    Operation.Acquire wanted = request;
    send(
        service -> Optional.of(acquired(service, wanted)),
        grant -> take(grant.orElseThrow()),
        e -> {
          if (e.reason() == Reason.NOT_YET && tries > 0) {
            in(wait(e), () -> acquire(tries - 1));
          } else if (e.reason() == Reason.HELD && tries > 0 && world.rng.chance(0.5)) {
            in(wait(e), () -> acquire(tries - 1)); // the same request again
          } else {
            in(wait(e), this::ask);
          }
        },
        () -> {
          if (tries > 0) {
            acquire(tries - 1);
          } else {
            giveBack(2);
          }
        });
  }

  private Grant acquired(ServiceInstance service, Operation.Acquire wanted)
      throws LeaseRefusedException, LeaseUnavailableException {
    world.judge.begun(wanted.id());
    return service.acquire(wanted);
  }

  private long wait(LeaseRefusedException e) {
    return Math.min(e.retryAfterMs() * Plan.MS, longest()) + world.rng.between(0, longest() / 10);
  }

  private void take(Grant grant) {
    held = grant.witnesses();
    holds(asked, request.durationMs());
    in(world.rng.between(0, longest() / 4), this::hold);
  }

  private long end() {
    return held.stream().mapToLong(w -> w.witness().expiry()).min().orElse(Long.MIN_VALUE);
  }

  private boolean isTentative() {
    return held.stream().anyMatch(w -> w.witness().tentative());
  }

  private void hold() {
    if (clock() >= end()) {
      in(world.rng.between(0, longest() / 4), this::ask);
      return;
    }
    write();
    double what = world.rng.nextDouble();
    if (isTentative() && what < 0.4) {
      long duration = duration();
      prolong(duration, s -> s.upgrade(request.id(), duration));
    } else if (what < 0.25) {
      giveBack(TRIES);
    } else if (what < 0.35) {
      in(world.rng.between(0, longest()), this::ask); // as if it were killed
    } else if (what < 0.5) {
      resume();
    } else if (what < 0.85) {
      renew();
    } else {
      in(world.rng.between(0, longest() / 4), this::hold);
    }
  }

  /** Writes a message under all that it holds, if it can by now. */
  private void write() {
    long lower = held.stream().mapToLong(w -> w.witness().lowerBound()).max().orElse(0);
    long fence = held.stream().mapToLong(w -> w.witness().fence().upTo()).max().orElse(0);
    fenced |= fence < clock() - world.plan.apart() && world.rng.chance(0.7);
    long timestamp = Math.max(clock(), written + 1);
    if (!isTentative() && timestamp > lower && timestamp < end() && world.rng.chance(0.8)) {
      written = timestamp;
      world.judge.wrote(held, timestamp);
    }
  }

  private LeaseReport report() {
    var report =
        new LeaseReport(
            written == Long.MIN_VALUE ? OptionalLong.empty() : OptionalLong.of(written),
            fenced,
            List.of());
    return report.to(World.INSTANCE);
  }

  private interface Prolongation {
    Grant on(ServiceInstance service) throws LeaseRefusedException, LeaseUnavailableException;
  }

  private void renew() {
    long duration = duration();
    LogSet more =
        world.rng.chance(0.2)
            ? LogSet.of(List.of(LOGS.get(world.rng.below(LOGS.size()))))
            : LogSet.NONE;
    LeaseReport report = report();
    prolong(duration, s -> s.renew(request.id(), duration, more, report));
  }

  private void resume() {
    if (isTentative()) {
      renew();
      return;
    }
    var resume = new Operation.Resume(request.id(), held, duration());
    prolong(resume.durationMs(), s -> s.resume(resume));
  }

  private void prolong(long durationMs, Prolongation how) {
    Id id = request.id();
    long from = sent();
    send(
        s -> Optional.of(how.on(s)),
        grant -> {
          merge(grant.orElseThrow());
          holds(from, durationMs);
          in(world.rng.between(0, longest() / 3), this::hold);
        },
        e -> {
          boolean elsewhere = e.asksToResume();
          if (elsewhere && !isTentative()) {
            resume();
          } else if (elsewhere
              || e.reason() == Reason.NOT_HELD) { // a tentative one goes on nowhere
            in(world.rng.between(0, longest() / 4), this::ask);
          } else {
            in(wait(e) / 2, this::hold);
          }
        },
        this::hold);
    if (!id.equals(request.id())) {
      throw new IllegalStateException("another request");
    }
  }

  /** A session goes by the newest witness of each lease. */
  private void merge(Grant grant) {
    var newest = new ArrayList<SignedWitness>(held.size());
    for (SignedWitness old : held) {
      Witness before = old.witness();
      SignedWitness best = old;
      for (SignedWitness each : grant.witnesses()) {
        Witness w = each.witness();
        if (w.name().equals(before.name())
            && w.correlation().equals(before.correlation())
            && w.issuedAt() >= before.issuedAt()) {
          best = each;
        }
      }
      newest.add(best);
    }
    held = newest;
  }

  /** It writes nothing any more, and says so. */
  private void giveBack(int tries) {
    Id id = request.id();
    world.trace("%s is given back", id);
    world.judge.stopped(id);
    LeaseReport report = held.isEmpty() ? LeaseReport.NOTHING : report();
    List<SignedWitness> had = held;
    Runnable over = () -> in(world.rng.between(0, longest() / 2), this::ask);
    send(
        s -> {
          s.release(id, report);
          world.judge.released(id, had);
          return Optional.empty();
        },
        nothing -> over.run(),
        e -> {
          boolean elsewhere = e.asksToResume() && !had.isEmpty();
          if (tries > 0 && (e.reason() == Reason.NOT_YET || elsewhere)) {
            in(wait(e), () -> giveBack(tries - 1));
          } else {
            over.run();
          }
        },
        () -> {
          if (tries > 0) {
            giveBack(tries - 1);
          } else {
            over.run();
          }
        });
  }

  /** An answer, or why there is none. */
  private record Answer(Optional<Grant> grant, @Nullable LeaseRefusedException refused) {}

  private void send(
      Call call,
      Consumer<Optional<Grant>> granted,
      Consumer<LeaseRefusedException> refused,
      Runnable lost) {
    if (world.rng.chance(world.plan.elsewhere())) {
      server = world.rng.below(world.servers.size());
    }
    Server to = world.servers.get(server);
    long patience = world.rng.chance(0.1) ? world.rng.between(Plan.MS, longest()) : 4_000 * Plan.MS;
    long n = in(patience, lost);
    Consumer<Answer> answer =
        a -> {
          LeaseRefusedException e = a.refused();
          ifWaiting(
              n,
              () -> {
                if (e == null) {
                  granted.accept(a.grant());
                } else {
                  refused.accept(e);
                }
              });
        };
    Operation.Acquire wanted = request;
    boolean acquires = held.isEmpty();
    world.carry(() -> to.carryOut(() -> carryOut(to, call, wanted, acquires, answer)));
  }

  /** On the server. */
  private void carryOut(
      Server at, Call call, Operation.Acquire wanted, boolean acquires, Consumer<Answer> answer) {
    Answer made;
    world.trace("server %d is asked for %s%s", at.id, wanted.id(), acquires ? ", to acquire" : "");
    try {
      Optional<Grant> grant = call.on(at.service());
      grant.ifPresent(g -> world.judge.granted(at, g));
      made = new Answer(grant, null);
    } catch (LeaseUnavailableException e) {
      world.trace("server %d does not know: %s", at.id, e);
      return;
    } catch (LeaseRefusedException e) {
      world.trace("server %d refuses %s: %s", at.id, wanted.id(), e);
      if (acquires) {
        boolean clean = world.fibers.current().failures == 0;
        world.judge.refused(at, wanted.id(), wanted.names(), e.reason(), clean);
      }
      made = new Answer(Optional.empty(), e);
    }
    Answer done = made;
    world.carry(() -> answer.accept(done));
  }
}
