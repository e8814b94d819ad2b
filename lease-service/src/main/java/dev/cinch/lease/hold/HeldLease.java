package dev.cinch.lease.hold;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseService;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.time.TimeSource;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The leases of one grant, renewed about every third of their duration by whoever calls {@link
 * #doWork} ({@link LeaseKeeper} does, from a thread of its own).
 *
 * <p>A lease lasts its duration from before the request was sent, by the monotonic clock, whatever
 * that of the service says (rule L5). Where the machine sleeps that clock may stop: so a lease is
 * over as well once the wall clock has gone as far. Thread-safe; {@link #remainingNanos}, {@link
 * #grant} and the like never wait for the network.
 */
@CheckReturnValue
public final class HeldLease {
  /** Where it stands. */
  public enum State {
    /** Renewed, and safe until {@link #remainingNanos} is 0. */
    HELD,
    /** Lost for good: the service said so, or the time passed without a renewal. */
    LOST,
    /** Released, or let go. */
    CLOSED
  }

  /**
   * When a request was sent.
   *
   * @param monotonic the monotonic clock before that, nanoseconds
   * @param wall the wall clock before that, nanoseconds since the Unix epoch
   */
  public record AskedAt(long monotonic, long wall) {
    /** Now, before it is sent. */
    public static AskedAt now(TimeSource time) {
      return new AskedAt(time.monotonicNanos(), time.wallNanos());
    }
  }

  private static final long NANOS_PER_MS = 1_000_000;

  private final GrantCalls calls;
  private final TimeSource time;
  private final HoldSettings settings;
  private final LeaseListener listener;
  private final RandomGenerator random;
  private final Object network = new Object();

  /** What the listener is to be told yet. Guarded by this. */
  private final Queue<Runnable> untold = new ArrayDeque<>(1);

  /** Whether it was told that they are at risk, since the last renewal. Guarded by this. */
  private boolean atRisk;

  private volatile Snapshot now;
  private volatile long renewAt;

  /**
   * What readers see at once.
   *
   * @param wallEnd the deadline by the wall clock, as far as that is not set
   */
  private record Snapshot(
      State state, Grant grant, long deadline, long wallEnd, @Nullable String lostWhy) {
    Snapshot with(State next, @Nullable String why) {
      return new Snapshot(next, grant, deadline, wallEnd, why);
    }
  }

  /**
   * Takes over a grant.
   *
   * @param asked before the request for the grant was sent; the grant's duration must have been the
   *     settings'
   * @param reports asked before each renewal for what to report; called on the renewing thread
   * @param listener told what becomes of the leases
   * @param random for jitter
   */
  public HeldLease(
      LeaseService service,
      TimeSource time,
      HoldSettings settings,
      Grant grant,
      AskedAt asked,
      Supplier<LeaseReport> reports,
      LeaseListener listener,
      RandomGenerator random) {
    this.calls = new GrantCalls(service, settings.durationMs(), reports);
    this.time = time;
    this.settings = settings;
    this.listener = listener;
    this.random = random;
    this.now = held(grant, asked);
    this.renewAt = asked.monotonic + third();
  }

  private Snapshot held(Grant grant, AskedAt asked) {
    long safe = settings.safeNanos();
    return new Snapshot(State.HELD, grant, asked.monotonic + safe, asked.wall + safe, null);
  }

  /**
   * Acquires and holds.
   *
   * <p>Whoever sends the same request again after {@link LeaseUnavailableException} has to keep the
   * time of the <i>first</i> attempt and use the constructor: that one may have been granted, and
   * the lease runs from then.
   *
   * @param request its duration is that of the settings
   * @throws IllegalArgumentException if it is not
   */
  public static HeldLease acquire(
      LeaseService service,
      TimeSource time,
      HoldSettings settings,
      Operation.Acquire request,
      Supplier<LeaseReport> reports,
      LeaseListener listener,
      RandomGenerator random)
      throws LeaseRefusedException, LeaseUnavailableException {
    if (request.durationMs() != settings.durationMs()) {
      throw new IllegalArgumentException(
          "acquired for "
              + request.durationMs()
              + " ms, to be renewed for "
              + settings.durationMs());
    }
    var asked = AskedAt.now(time);
    Grant grant = service.acquire(request);
    return new HeldLease(service, time, settings, grant, asked, reports, listener, random);
  }

  /**
   * Renews if that is due, and notices loss. The caller's thread does the network's I/O.
   *
   * @param monotonicNow the monotonic clock
   * @return when to call again at the latest, by the monotonic clock; {@link Long#MAX_VALUE} when
   *     there is nothing to do any more
   */
  public long doWork(long monotonicNow) {
    if (now.state() != State.HELD) {
      return Long.MAX_VALUE;
    }
    if (expire(monotonicNow)) {
      return Long.MAX_VALUE;
    }
    if (monotonicNow - renewAt >= 0) {
      try {
        renew(LogSet.NONE);
      } catch (LeaseRefusedException | LeaseUnavailableException e) {
        // Lost already, or tried again below; the deadline decides.
      }
    }
    Snapshot then = now;
    if (then.state() != State.HELD) {
      return Long.MAX_VALUE;
    }
    return renewAt - then.deadline() < 0 ? renewAt : then.deadline();
  }

  /**
   * Notices a loss by time alone; waits for no renewal that is under way.
   *
   * @return whether the leases are no longer held
   */
  @CanIgnoreReturnValue
  boolean expire(long monotonicNow) {
    Snapshot then = now;
    long left = Math.min(then.deadline() - monotonicNow, then.wallEnd() - time.wallNanos());
    if (left > 0) {
      if (left <= settings.safeNanos() / 2) {
        risk(left);
        tell();
      }
      return false;
    }
    lose(then.deadline(), "it was not renewed in time");
    tell();
    return now.state() != State.HELD;
  }

  /**
   * Renews at once, to add logs or to report that a fence was passed. If it was to add logs and
   * failed, and the leases are not lost, they are renewed when they were to be.
   *
   * @return the renewed grant
   * @throws LeaseRefusedException if the service refused; if {@code NOT_HELD} the leases are lost
   */
  @CanIgnoreReturnValue
  public Grant renew(LogSet addLogs) throws LeaseRefusedException, LeaseUnavailableException {
    try {
      return askToRenew(addLogs);
    } finally {
      tell();
    }
  }

  /** Renews if that is due, also after the deadline, which counts from before a grant's waiting. */
  public void renewIfDue() throws LeaseRefusedException, LeaseUnavailableException {
    if (time.monotonicNanos() - renewAt >= 0) {
      renew(LogSet.NONE);
    }
  }

  private Grant askToRenew(LogSet addLogs) throws LeaseRefusedException, LeaseUnavailableException {
    synchronized (network) {
      try {
        return renewOrResume(addLogs);
      } catch (LeaseRefusedException e) {
        putOff(addLogs, e.retryAfterMs());
        throw e;
      } catch (LeaseUnavailableException e) {
        putOff(addLogs, 0);
        throw e;
      }
    }
  }

  /** Renews, after resuming at the instance that answers if that is another one (rule L10). */
  private Grant renewOrResume(LogSet addLogs)
      throws LeaseRefusedException, LeaseUnavailableException {
    try {
      return call(() -> calls.renew(grant(), addLogs));
    } catch (LeaseRefusedException e) {
      if (!e.asksToResume()) {
        throw e;
      }
      Grant unused = call(() -> calls.resume(grant()));
      // It does not know yet what was written, and fenced.
      return call(() -> calls.renew(grant(), addLogs));
    }
  }

  /**
   * After a renewal that failed. One that was to add logs says nothing about those that add none,
   * which may well succeed; whoever tries it again and again would put them off for ever.
   */
  private void putOff(LogSet addLogs, long retryAfterMs) {
    if (addLogs.isEmpty()) {
      retryIn(retryAfterMs);
    }
  }

  /**
   * Makes tentative leases full. If it fails and they are not lost, they are renewed when they were
   * to be: what an upgrade has to wait for is no matter of theirs.
   *
   * @throws LeaseRefusedException if one was broken; then all are lost
   */
  @CanIgnoreReturnValue
  public Grant upgrade() throws LeaseRefusedException, LeaseUnavailableException {
    try {
      synchronized (network) {
        return call(() -> calls.upgrade(grant()));
      }
    } finally {
      tell();
    }
  }

  /**
   * Gives the leases back. Renewing has stopped when this returns or throws, and nothing may be
   * written any more. Where nobody hears it, or another instance does, they run out, and the next
   * holder fences (rule L13). After {@link LeaseUnavailableException} it may be called again.
   *
   * @param last what to report; every append under the leases has its verdict
   */
  public void release(LeaseReport last) throws LeaseRefusedException, LeaseUnavailableException {
    try {
      // Behind a renewal that is under way, which may find that another instance goes on with them.
      synchronized (network) {
        boolean held = state() != State.LOST;
        close();
        try {
          calls.release(grant(), last);
        } catch (LeaseRefusedException e) {
          if (e.reason() != Reason.NOT_MET || !held) {
            throw e;
          }
          // What one server of an instance did the others know, also if it does it late; and no
          // other instance resumes these leases (rule L17).
          Grant unused = calls.resume(grant());
          calls.release(grant(), last);
        }
      }
    } finally {
      tell();
    }
  }

  /** Stops renewing and lets the leases run out, which costs the next holder a fence. */
  public synchronized void close() {
    if (now.state() == State.HELD) {
      now = now.with(State.CLOSED, null);
    }
  }

  private interface Call {
    Grant send() throws LeaseRefusedException, LeaseUnavailableException;
  }

  private Grant call(Call call) throws LeaseRefusedException, LeaseUnavailableException {
    Snapshot then = now;
    if (then.state() != State.HELD) {
      String why = then.lostWhy() == null ? "" : ": " + then.lostWhy();
      throw new LeaseRefusedException(
          Reason.NOT_HELD, "the leases are no longer held here" + why, 0);
    }
    var asked = AskedAt.now(time);
    try {
      Grant grant = call.send();
      renewed(grant, asked);
      return grant;
    } catch (LeaseRefusedException e) {
      if (e.reason() == Reason.NOT_HELD || e.reason() == Reason.HELD) {
        lose(now.deadline(), String.valueOf(e.getMessage()));
      }
      throw e;
    }
  }

  private synchronized void renewed(Grant grant, AskedAt asked) {
    Snapshot before = now;
    if (before.state() != State.HELD) {
      return; // Lost or closed while the answer was on its way: that stays so.
    }
    Snapshot renewed = held(grant, asked);
    now =
        renewed.deadline() - before.deadline() > 0
            ? renewed
            : new Snapshot(State.HELD, grant, before.deadline(), before.wallEnd(), null);
    atRisk = false;
    renewAt = asked.monotonic + third();
  }

  /** After as long as the service said, but while there is time left to try more than once. */
  private void retryIn(long retryAfterMs) {
    long longest = remainingNanos() / 2;
    long wait = Math.min(retryAfterMs * NANOS_PER_MS, longest);
    renewAt = time.monotonicNanos() + Math.max(settings.retryMs() * NANOS_PER_MS, wait);
  }

  /** A third of the duration, give or take a tenth of that, so that holders spread out. */
  private long third() {
    double jitter = 0.9 + 0.2 * random.nextDouble();
    return (long) (settings.durationMs() * NANOS_PER_MS / 3.0 * jitter);
  }

  /**
   * Loses the leases, unless a renewal has moved their deadline since it was looked at.
   *
   * @param deadline as it was
   */
  private synchronized void lose(long deadline, String why) {
    if (now.state() != State.HELD || now.deadline() != deadline) {
      return;
    }
    now = now.with(State.LOST, why);
    untold.add(() -> listener.lost(names(), why));
  }

  private synchronized void risk(long leftNanos) {
    if (!atRisk && now.state() == State.HELD) {
      atRisk = true;
      untold.add(() -> listener.atRisk(names(), Duration.ofNanos(leftNanos)));
    }
  }

  private List<LeaseName> names() {
    return witnesses().stream().map(w -> w.witness().name()).toList();
  }

  /**
   * Tells what nobody was told yet. Under no lock: the listener may close what another thread uses
   * that waits for a renewal.
   */
  private void tell() {
    while (true) {
      Runnable next;
      synchronized (this) {
        next = untold.poll();
      }
      if (next == null) {
        return;
      }
      next.run();
    }
  }

  /** The secret id of the grant. */
  public Id id() {
    return now.grant().id();
  }

  /** The grant as last answered. */
  public Grant grant() {
    return now.grant();
  }

  /** The latest witnesses, in ascending order of names. */
  public List<SignedWitness> witnesses() {
    return now.grant().witnesses();
  }

  public State state() {
    return now.state();
  }

  /** Why the leases were lost, one line; null if they were not. */
  public @Nullable String lostWhy() {
    return now.lostWhy();
  }

  /** Until when, by the monotonic clock, the leases may be used. */
  public long deadline() {
    return now.deadline();
  }

  /** How much longer the leases may be used, nanoseconds; 0 when no longer. */
  public long remainingNanos() {
    return now.state() == State.HELD ? Math.max(0, leftNanos()) : 0;
  }

  /**
   * How long until the leases can be another's, also of those that were lost: by the clock that has
   * gone further since they were asked for. Nanoseconds; 0 or less when they can.
   */
  public long leftNanos() {
    Snapshot then = now;
    return Math.min(then.deadline() - time.monotonicNanos(), then.wallEnd() - time.wallNanos());
  }
}
