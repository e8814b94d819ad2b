package dev.cinch.lease.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.LeaseHeldException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.OneLine;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.Revocation;
import dev.cinch.lease.ServiceInfo;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.access.Caller;
import dev.cinch.lease.http.Tenancy.Held;
import dev.cinch.lease.http.TrailEvent.Kind;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who was granted which lease, gave it back, had it revoked or was refused it, and which leases
 * expired. The newest events are in memory, for {@code GET /v1/history}. All of them are lines of
 * JSON for the logger {@link #LOGGER} where that is enabled. A thread of its own writes these, and
 * looks which leases are over. Renewals are no events: each costs a look-up. Thread-safe.
 */
final class Trail implements AutoCloseable {
  /** Of the lines. */
  static final String LOGGER = "cinch.trail";

  /** Events in memory, at most. */
  static final int HISTORY = 20_000;

  private static final long HISTORY_BYTES = 8 << 20;

  /** Lines that are not written yet, at most; others are left out, and counted. */
  static final int UNWRITTEN = 16_384;

  private static final long WRITE_EVERY_MS = 100;

  /** What is over is looked for with each so many times of writing. */
  private static final int SWEEP_EVERY = 10;

  /** Refusals of one second; others are left out, and counted. */
  static final int REFUSALS = 20;

  /** Of the heap a lease that is held has as much as the table and this need for it. */
  private static final int HEAP_PER_LEASE = 4_096;

  /** Leases whose time is over that are looked at between two times of writing. */
  private static final int LOOKS = 1_000;

  private static final int MAX_TEXT = 300;
  private static final long SECOND = 1_000_000_000L;

  /** Refusals that say who may not; others say when or where to ask, and end nothing. */
  private static final Set<Reason> TELLING =
      EnumSet.of(Reason.HELD, Reason.NOT_HELD, Reason.FORBIDDEN, Reason.INVALID, Reason.WATERMARK);

  private static final Logger lines = LoggerFactory.getLogger(LOGGER);
  private static final Logger log = LoggerFactory.getLogger(Trail.class);

  private record Moment(long time, long clock) {}

  private final LeaseService service;
  private final Supplier<Health> health;
  private final Supplier<ServiceInfo> info;
  private final LongSupplier clock;
  final TrailHistory history =
      new TrailHistory(HISTORY, Math.min(HISTORY_BYTES, Runtime.getRuntime().maxMemory() / 32));
  private final Map<Id, Tenancy> tenancies = new ConcurrentHashMap<>();

  /** How many leases these are. */
  private final AtomicLong leases = new AtomicLong();

  private final long mostLeases = Runtime.getRuntime().maxMemory() / HEAP_PER_LEASE;
  private final LongAdder expired = new LongAdder();

  /** Whether there are lines; else nothing waits. */
  private final boolean written = lines.isInfoEnabled();

  private final Queue<TrailEvent> unwritten = new ArrayBlockingQueue<>(written ? UNWRITTEN : 1);
  private final AtomicLong leftOut = new AtomicLong();
  private final AtomicLong refusalsLeftOut = new AtomicLong();
  private long refusalsSecond = Long.MIN_VALUE;
  private int refusals;
  private long leftOutSecond = Long.MIN_VALUE;

  /** What the service's time was, and the clock; it is asked by the thread, since it may wait. */
  private volatile Optional<Moment> known = Optional.empty();

  private final long made;
  private boolean begun;
  private int steps;
  private final ScheduledExecutorService thread =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            var made = new Thread(task, "cinch-trail");
            made.setDaemon(true);
            return made;
          });

  /**
   * @param info waits where {@code health} has no instance
   * @param clock monotonic, nanoseconds
   */
  Trail(
      LeaseService service,
      Supplier<Health> health,
      Supplier<ServiceInfo> info,
      LongSupplier clock) {
    this.service = service;
    this.health = health;
    this.info = info;
    this.clock = clock;
    this.made = clock.getAsLong();
  }

  /** Writes from now on, and looks what is over. */
  void start() {
    var unused =
        thread.scheduleWithFixedDelay(this::step, 0, WRITE_EVERY_MS, TimeUnit.MILLISECONDS);
  }

  private void step() {
    try {
      if (steps++ % SWEEP_EVERY == 0 || known.isEmpty()) {
        sweep();
      }
      write();
    } catch (RuntimeException e) {
      log.error("the trail could not be kept", e);
    }
  }

  /** Writes what is not yet, and that it ends. */
  @Override
  public void close() {
    thread.shutdownNow();
    try {
      if (thread.awaitTermination(5, TimeUnit.SECONDS)) { // else it waits for others
        boolean unused = !known.isEmpty() || learn(); // of one that has just started, too
        write();
        tellLeftOut();
        if (begun) {
          line("stopped", clock.getAsLong(), LeaseDocuments.object());
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** How many leases were found to be over that nobody gave back, since the start. */
  long expired() {
    return expired.sum();
  }

  /** It is known what became of the first operations of a request. */
  void told(Routes.Asked asked, List<Outcome> outcomes) {
    for (int i = 0; i < outcomes.size(); i++) {
      Operation operation = asked.operations().get(i);
      Outcome outcome = outcomes.get(i);
      if (outcome instanceof Outcome.Granted granted) {
        granted(operation, granted.grant(), asked.caller());
      } else if (outcome instanceof Outcome.Refused refused) {
        refused(operation, refused.refusal(), asked.caller());
      } else if (outcome instanceof Outcome.Revoked revoked) {
        revoked(revoked, asked.caller());
      } else if (operation instanceof Operation.Release release) {
        released(release.id(), asked.caller());
      }
    }
  }

  private void granted(Operation operation, Grant grant, Caller caller) {
    Tenancy known = tenancies.get(grant.id());
    if (operation instanceof Operation.Renew) {
      if (known != null) {
        known.prolonged(grant);
      } else {
        var unused = keep(grant); // another server of the same leases has granted it
      }
      return;
    }
    boolean upgrade = operation instanceof Operation.Upgrade;
    if (known != null) {
      known.prolonged(grant);
      if (!upgrade || known.full) {
        return; // the request came before
      }
      known.full = true;
    } else if (!keep(grant)) {
      leftOut.addAndGet(grant.witnesses().size()); // their ends
    }
    Kind kind =
        upgrade
            ? Kind.UPGRADED
            : operation instanceof Operation.Resume ? Kind.RESUMED : Kind.GRANTED;
    for (SignedWitness signed : grant.witnesses()) {
      add(TrailEvent.of(kind, signed.witness(), caller));
    }
  }

  /** Returns whether there was room for it. */
  private boolean keep(Grant grant) {
    int count = grant.witnesses().size();
    if (leases.get() + count > mostLeases) {
      return false;
    }
    if (tenancies.putIfAbsent(grant.id(), new Tenancy(grant)) == null) {
      leases.addAndGet(count);
    }
    return true;
  }

  private void released(Id id, Caller caller) {
    Tenancy was = tenancies.remove(id);
    if (was == null) {
      return; // the request came before
    }
    leases.addAndGet(-was.leases.size());
    long at = now().orElse(was.granted);
    for (Held lease : was.leases) {
      add(event(at, Kind.RELEASED, lease, was.expiry, caller, ""));
    }
  }

  private void revoked(Outcome.Revoked revoked, Caller caller) {
    Revocation r = revoked.revocation();
    var lease = new Held(r.name(), r.holder(), r.correlation(), 0);
    add(event(r.revokedAt(), Kind.REVOKED, lease, revoked.expiry(), caller, r.reason()));
  }

  /** An operation was refused, here or by the service. */
  void refused(Operation operation, LeaseRefusedException refusal, Caller caller) {
    if (!TELLING.contains(refusal.reason())) {
      return;
    }
    OptionalLong at = now();
    if (at.isEmpty() || !hasRoomForRefusal()) {
      refusalsLeftOut.incrementAndGet();
      return;
    }
    @Nullable LeaseName name = null;
    @Nullable Held lease = null;
    String holder = "";
    if (operation instanceof Operation.Acquire acquire) {
      name = acquire.names().isEmpty() ? null : acquire.names().get(0);
      holder = acquire.holder();
    } else if (operation instanceof Operation.Revoke revoke) {
      name = revoke.name();
    } else if (operation instanceof Operation.Secret secret) {
      Tenancy tenancy = tenancies.get(secret.id());
      lease = tenancy == null || tenancy.leases.isEmpty() ? null : tenancy.leases.get(0);
    }
    if (refusal instanceof LeaseHeldException held) {
      name = held.name();
    }
    add(
        new TrailEvent(
            at.getAsLong(),
            Kind.REFUSED,
            lease == null ? name : lease.name(),
            lease == null ? OneLine.of(holder, MAX_TEXT) : lease.holder(),
            lease == null ? null : lease.correlation(),
            lease == null ? 0 : lease.generation(),
            0,
            false,
            TrailEvent.by(caller),
            TrailEvent.from(caller),
            OneLine.of(refusal.reason() + ": " + refusal.getMessage(), MAX_TEXT)));
  }

  private synchronized boolean hasRoomForRefusal() {
    long second = second();
    if (second != refusalsSecond) {
      refusalsSecond = second;
      refusals = 0;
    }
    return ++refusals <= REFUSALS;
  }

  private long second() {
    return Math.floorDiv(clock.getAsLong(), SECOND);
  }

  private static TrailEvent event(
      long at, Kind kind, Held lease, long expiry, @Nullable Caller caller, String reason) {
    return new TrailEvent(
        at,
        kind,
        lease.name(),
        lease.holder(),
        lease.correlation(),
        lease.generation(),
        expiry,
        false,
        caller == null ? null : TrailEvent.by(caller),
        caller == null ? null : TrailEvent.from(caller),
        reason);
  }

  private void add(TrailEvent event) {
    history.add(event);
    if (written && !unwritten.offer(event)) {
      leftOut.incrementAndGet();
    }
  }

  /** The service's time, by the clock since it was asked; empty if it never was. */
  private OptionalLong now() {
    return at(clock.getAsLong());
  }

  private OptionalLong at(long at) {
    return known.isEmpty()
        ? OptionalLong.empty()
        : OptionalLong.of(known.get().time() + (at - known.get().clock()));
  }

  /** Asks for the service's time; false while it starts. */
  private boolean learn() {
    boolean runs = health.get().instance().isPresent();
    if (runs) {
      long before = clock.getAsLong();
      known = Optional.of(new Moment(info.get().now(), before));
    }
    return runs;
  }

  /**
   * Finds out which leases are over: those whose time was over when they were last prolonged here.
   */
  synchronized void sweep() {
    if (!learn()) {
      return;
    }
    long now = known.orElseThrow().time();
    if (health.get().obstacle().filter(o -> o.reason() == Reason.SUPERSEDED).isPresent()) {
      return; // what goes on at its successor looks over here
    }
    int looks = LOOKS;
    for (Map.Entry<Id, Tenancy> each : tenancies.entrySet()) {
      if (each.getValue().expiry <= now) {
        looks -= each.getValue().leases.size();
        if (looks < 0 || !look(each.getKey(), each.getValue())) {
          return; // the next sweep goes on
        }
      }
    }
  }

  /** Returns whether it could be looked. */
  private boolean look(Id id, Tenancy tenancy) {
    var over = new ArrayList<Held>();
    var rest = new ArrayList<Held>();
    boolean released = false;
    long expiry = tenancy.expiry;
    try {
      for (Held lease : tenancy.leases) {
        Optional<LeaseInfo> found = service.show(lease.name());
        if (found.isEmpty() || isOver(found.get(), lease)) {
          over.add(lease);
        } else {
          rest.add(lease);
          if (isGivenBack(found.get(), lease)) {
            released = true;
          } else {
            expiry = Math.max(expiry, found.get().witness().expiry());
          }
        }
      }
    } catch (LeaseUnavailableException e) {
      return false;
    }
    // What was given back here is about to be told; only at the second time it was elsewhere.
    boolean elsewhere = expiry > tenancy.expiry || released;
    if (rest.isEmpty() || (elsewhere && tenancy.elsewhere)) {
      if (!tenancies.remove(id, tenancy)) {
        return true; // it was released just now
      }
      leases.addAndGet(-tenancy.leases.size());
    } else {
      leases.addAndGet(rest.size() - tenancy.leases.size());
      tenancy.leases = rest;
      tenancy.elsewhere = elsewhere;
    }
    for (Held lease : over) {
      expired.increment();
      add(event(tenancy.expiry, Kind.EXPIRED, lease, tenancy.expiry, null, ""));
    }
    tenancy.expiry = Math.max(tenancy.expiry, expiry);
    return true;
  }

  private static boolean isOf(LeaseInfo found, Held lease) {
    return found.witness().correlation().equals(lease.correlation());
  }

  private static boolean isGivenBack(LeaseInfo found, Held lease) {
    Witness next = found.witness();
    return isOf(found, lease)
        ? found.state() == LeaseInfo.State.RELEASED
        : next.previousEnding() == Ending.RELEASED
            && next.previous().filter(lease.correlation()::equals).isPresent();
  }

  /** Whether a lease is over and was not given back, by what is known of its name now. */
  private static boolean isOver(LeaseInfo found, Held lease) {
    return isOf(found, lease)
        ? found.state() == LeaseInfo.State.EXPIRED
        : !isGivenBack(found, lease);
  }

  /** Writes the lines that wait. */
  synchronized void write() {
    if (!written) {
      return;
    }
    if (!begun) {
      if (known.isEmpty()) {
        return; // it starts, and nothing stands before that it did
      }
      begun = true;
      line("started", made, LeaseDocuments.object().put("store", health.get().store()));
    }
    for (int i = 0; i < UNWRITTEN && !unwritten.isEmpty(); i++) { // others come meanwhile
      lines.info("{}", new String(LeaseDocuments.bytes(unwritten.remove().json()), UTF_8));
    }
    long second = second();
    if (second != leftOutSecond) {
      leftOutSecond = second;
      tellLeftOut();
    }
  }

  private void tellLeftOut() {
    long events = leftOut.getAndSet(0);
    long refused = refusalsLeftOut.getAndSet(0);
    if (events + refused > 0) {
      line(
          "left-out",
          clock.getAsLong(),
          LeaseDocuments.object().put("events", events).put("refusals", refused));
    }
  }

  /** Of the trail itself. */
  private void line(String event, long when, ObjectNode more) {
    OptionalLong at = at(when);
    if (at.isPresent()) {
      ObjectNode out = LeaseDocuments.time(LeaseDocuments.object(), "at", at.getAsLong());
      out.put("event", event).setAll(more);
      lines.info("{}", new String(LeaseDocuments.bytes(out), UTF_8));
    }
  }
}
