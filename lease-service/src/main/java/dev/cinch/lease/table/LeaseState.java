package dev.cinch.lease.table;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.TimeBound;
import dev.cinch.lease.Watermark;
import dev.cinch.lease.Witness;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What is known of the last lease of one name: the state that {@link LeaseRules} turns into the
 * next one. A working copy of what a backend keeps, be it as {@link LeaseLayout} or {@link
 * LeaseStateCodec}: the rules change it in place, so the caller gives up the one that it passed in,
 * and the backend replaces what it keeps when all is done.
 *
 * <p>Times are nanoseconds since the Unix epoch. Not thread-safe.
 */
@CheckReturnValue
public final class LeaseState {
  /**
   * Whether the last lease still counts; it may have expired all the same. In the order of their
   * numbers in {@link LeaseLayout}.
   */
  public enum State {
    /** Given back: {@link LeaseState#endedAt} says when. Also of a name without a lease. */
    RELEASED,
    /** Permits no writes, anyone may break it. */
    TENTATIVE,
    /** Excludes everyone else until its expiry. */
    FULL,
    /**
     * Was full, and no later instance can resume it any more (rule L11): it expired, or was revoked
     * (rule L15) and still excludes everyone else until its expiry. It is not prolonged.
     */
    ENDED
  }

  final String name;
  State state = State.RELEASED;

  /** The secret of the request that it was granted to, and what that asked for. */
  Id id = new Id(0, 0);

  long durationMs;
  boolean askedTentative;
  LogSet askedLogs = LogSet.NONE;

  String holder = "";
  LogSet logs = LogSet.NONE;
  LogSet fenceLogs = LogSet.NONE;
  long fenceUpTo = Long.MIN_VALUE;
  long generation;
  long expiry;

  /**
   * Until when it excludes others by this machine's steady clock; {@link Moment#UNSTEADY} where
   * several machines decide.
   */
  long steadyUntil = Moment.UNSTEADY;

  long issuedAt;

  /** Between which times it was then; null before the first grant. */
  @Nullable TimeBound issuedIn;

  /** Also when the lease was granted. */
  long correlationHigh;

  long correlationLow;
  boolean hasPrevious;
  long previousHigh;
  long previousLow;
  Ending previousEnding = Ending.NONE;
  long previousEndedAt = Long.MIN_VALUE;
  long inheritedWatermark = Long.MIN_VALUE;
  long inheritedAt = Long.MIN_VALUE;
  long inheritedLatest = Long.MIN_VALUE;

  /** The highest that the holder stated under this lease. */
  long stated = Long.MIN_VALUE;

  long statedAt = Long.MIN_VALUE;
  long statedLatest = Long.MIN_VALUE;
  long endedAt = Long.MIN_VALUE;

  /** The latest that it could be then; told only where the fence was done with on release. */
  long endedLatest = Long.MIN_VALUE;

  /** Granted by an earlier instance (rule L10). */
  boolean resumed;

  /** The number of the instance that left it to this one (rule L19); 0 if it is this one's own. */
  long leftBy;

  /** The holder said on release that the fence is done with. */
  boolean fencedOnRelease;

  /** Newest first. */
  List<LeaseReport.Metadata> recent = List.of();

  /**
   * Of a name of which nothing is known.
   *
   * @param name of a {@link LeaseName}
   */
  public LeaseState(String name) {
    this.name = name;
  }

  public String name() {
    return name;
  }

  public State state() {
    return state;
  }

  /** The secret of the request that it was granted to. */
  public Id id() {
    return id;
  }

  public String holder() {
    return holder;
  }

  public long expiry() {
    return expiry;
  }

  /** When it was released; {@link Long#MIN_VALUE} if it was not. */
  public long endedAt() {
    return endedAt;
  }

  /**
   * When it was last granted, prolonged or released; what comes next may not be earlier, whatever
   * another machine's clock says. {@link Long#MIN_VALUE} if there was no lease.
   */
  public long changedAt() {
    return isKnown() ? Math.max(issuedAt, endedAt) : Long.MIN_VALUE;
  }

  /** Whether there was a lease; if not, the first one inherits what its backend knows (L4). */
  public boolean isKnown() {
    return generation > 0;
  }

  /** Whether a request asks for what this lease was granted for, names aside. */
  public boolean isFor(Operation.Acquire request) {
    return holder.equals(request.holder())
        && durationMs == request.durationMs()
        && askedTentative == request.tentative()
        && askedLogs.equals(request.logs());
  }

  /** Starts a lease that follows what {@code from} describes. */
  void grant(Operation.Acquire to, Inheritance from, Moment now, long newExpiry, Id correlation) {
    id = to.id();
    durationMs = to.durationMs();
    askedTentative = to.tentative();
    askedLogs = to.logs();
    generation = from.generation() + 1;
    holder = to.holder();
    logs = to.logs();
    state = to.tentative() ? State.TENTATIVE : State.FULL;
    expiry = newExpiry;
    steadyUntil = steadyUntil(now, newExpiry);
    issuedAt = now.time();
    issuedIn = now.bound();
    hasPrevious = from.correlation() != null;
    previousHigh = from.correlation() != null ? from.correlation().high() : 0;
    previousLow = from.correlation() != null ? from.correlation().low() : 0;
    previousEnding = from.ending();
    previousEndedAt = from.endedAt();
    correlationHigh = correlation.high();
    correlationLow = correlation.low();
    setWatermark(from.watermark());
    stated = Long.MIN_VALUE;
    statedAt = Long.MIN_VALUE;
    statedLatest = Long.MIN_VALUE;
    fencedOnRelease = false;
    endedAt = Long.MIN_VALUE;
    endedLatest = Long.MIN_VALUE;
    resumed = false;
    leftBy = 0;
    setFence(from.fence());
  }

  /** Goes on with a lease of an earlier instance, as its witness says (rule L10). */
  void resume(Operation.Resume by, Witness from, Moment now, long newExpiry) {
    id = by.id();
    durationMs = by.durationMs();
    askedLogs = from.logs();
    generation = 1;
    holder = from.holder();
    logs = from.logs();
    state = State.FULL;
    expiry = newExpiry;
    steadyUntil = steadyUntil(now, newExpiry);
    issuedAt = now.time();
    issuedIn = now.bound();
    hasPrevious = from.previous().isPresent();
    previousHigh = from.previous().map(Id::high).orElse(0L);
    previousLow = from.previous().map(Id::low).orElse(0L);
    previousEnding = from.previousEnding();
    previousEndedAt = from.previousEndedAt();
    correlationHigh = from.correlation().high();
    correlationLow = from.correlation().low();
    setWatermark(from.watermark());
    resumed = true;
    setFence(from.fence());
  }

  /** Of the lease; renewals and upgrades keep it. */
  public Id correlation() {
    return new Id(correlationHigh, correlationLow);
  }

  /** The lease, to be ended (rule L11). */
  public LeaseBackend.Tenure tenure() {
    return new LeaseBackend.Tenure(name, correlation());
  }

  /** Whether it is this request's, and goes on with that lease of an earlier instance. */
  boolean resumes(Id request, Id lease) {
    return resumed && isUnended() && belongsTo(request) && correlation().equals(lease);
  }

  /**
   * Whether it was resumed here, and ended without a release: its holder may not have heard of
   * that, and go by the earlier instance (rule L12).
   */
  public boolean isResumedUntilPast(Moment now) {
    return resumed && state != State.RELEASED && !isHeld(now);
  }

  /**
   * Whether a later instance might resume it, or have resumed it, unless that is prevented. Of what
   * was left here this instance alone decides.
   */
  public boolean isUnended() {
    return state == State.FULL && leftBy == 0;
  }

  /** Whether an earlier instance left it, and nothing was granted here on its name since (L19). */
  public boolean isLeft() {
    return leftBy > 0;
  }

  /** Whether it is that lease, left with nothing known of its end: its holder may go on here. */
  public boolean awaits(Id lease) {
    return leftBy > 0 && state == State.FULL && correlation().equals(lease);
  }

  /** Becomes what an instance leaves to the next one: nobody's secret, and no hint (rule L19). */
  public void leave(long instance) {
    disown();
    askedLogs = logs;
    recent = List.of();
    steadyUntil = Moment.UNSTEADY;
    leftBy = leftBy > 0 ? leftBy : instance;
  }

  /**
   * Excludes others for as long by a steady clock, too, as is left of it by another machine's clock
   * (rule L18).
   *
   * @param steady the steady clock, when it showed {@code time}
   * @param apart how far ahead of this machine's clock the other one may be
   */
  public void holdBy(long steady, long time, long apart) {
    steadyUntil = steady + Math.max(0, expiry + apart - time);
  }

  /**
   * Through when anything expires that was signed for its name, by this instance and those before
   * (rule L19).
   *
   * @param longest lease, nanoseconds: one before it may have had that
   * @param earlier what earlier instances may have signed
   */
  public long signedUpTo(long longest, Fence earlier) {
    long own = Math.max(expiry, grantedAt() + longest);
    // The holder of a resumed one may not know that, and go by the earlier instance (rule L12).
    return resumed && state != State.RELEASED ? Math.max(own, earlier.upTo()) : own;
  }

  /** Whether it is this request's, and was not released. */
  public boolean belongsTo(Id request) {
    return state != State.RELEASED && id.equals(request);
  }

  /** Whether it was this request's, and was released. */
  public boolean isReleasedBy(Id request) {
    return isKnown() && state == State.RELEASED && id.equals(request);
  }

  /** Makes a released lease nobody's, so that the request that had it may be granted one anew. */
  public void disown() {
    id = correlation(); // which is no secret of anybody
  }

  /**
   * Whether it may be held by anybody's clock (rule L18): its expiry has not passed by all that may
   * be another machine's, or not so long has passed by this machine's steady clock as it lasts.
   */
  public boolean isHeld(Moment now) {
    return state != State.RELEASED && leftNanos(now) > 0;
  }

  /** Whether it excludes everyone else. */
  public boolean excludes(Moment now) {
    return state != State.TENTATIVE && isHeld(now);
  }

  /** For how long it is held if nobody releases it, nanoseconds; 0 or less if it is over. */
  public long leftNanos(Moment now) {
    long left = expiry + now.apart() - now.time();
    return steadyUntil == Moment.UNSTEADY || now.steady() == Moment.UNSTEADY
        ? left
        : Math.max(left, steadyUntil - now.steady());
  }

  private static long steadyUntil(Moment now, long newExpiry) {
    return now.steady() == Moment.UNSTEADY
        ? Moment.UNSTEADY
        : now.steady() + (newExpiry - now.time());
  }

  /** Rule L2: what a watermark must exceed. */
  long lowerBound() {
    return Math.max(inheritedWatermark, fenceUpTo);
  }

  /** When the lease was granted, which the first half of its correlation is. */
  long grantedAt() {
    return correlationHigh;
  }

  /** Whether the next holder has to fence what this one should have. */
  public boolean carriesFence() {
    return fenceUpTo != Long.MIN_VALUE && !fencedOnRelease;
  }

  /**
   * Prolongs it; an expiry never moves back, so it is the highest that any witness carried (L8).
   */
  void prolong(Moment now, long newExpiry, LogSet widened) {
    expiry = Math.max(expiry, newExpiry);
    steadyUntil = Math.max(steadyUntil, steadyUntil(now, newExpiry));
    issuedAt = now.time();
    issuedIn = now.bound();
    logs = widened;
  }

  void upgrade() {
    state = State.FULL;
  }

  /**
   * Takes a watermark in; the highest of one lease counts, since renewals can arrive out of order.
   */
  void state(long watermark, Moment now) {
    if (watermark > stated) {
      stated = watermark;
      statedAt = now.time();
      statedLatest = now.latest();
    }
  }

  /** Takes note that the horizon has passed the fence, keeping the lower bound (rule L8). */
  void fenced(Moment now) {
    setWatermark(folded(inherited(), fenceUpTo, now.time(), now.latest()));
    setFence(Fence.NONE);
  }

  private static Watermark folded(Watermark watermark, long fence, long now, long latest) {
    return fence > watermark.timestamp() ? new Watermark(fence, now, latest) : watermark;
  }

  void release(Moment now, boolean fenced) {
    state = State.RELEASED;
    endedAt = now.time();
    endedLatest = fenced ? now.latest() : Long.MIN_VALUE;
    fencedOnRelease = fenced;
  }

  /**
   * Takes in where recent messages stand (rule L7).
   *
   * @param newer newest first
   * @param keep how many to keep, 0 or more
   */
  public void addMetadata(List<LeaseReport.Metadata> newer, int keep) {
    if (newer.isEmpty()) {
      return;
    }
    var all = new ArrayList<LeaseReport.Metadata>(newer);
    recent.stream().filter(m -> !newer.contains(m)).forEach(all::add);
    recent = List.copyOf(all.subList(0, Math.min(keep, all.size())));
  }

  /**
   * Makes it shorter, for a backend that has no room for it: without where messages stand, which is
   * a hint; then with a fence for all logs (rule L4).
   *
   * @return whether it is shorter now
   */
  public boolean shorten() {
    if (!recent.isEmpty()) {
      recent = List.of();
      return true;
    }
    if (fenceLogs.ids().isEmpty()) {
      return false;
    }
    fenceLogs = LogSet.ALL;
    return true;
  }

  /**
   * What the next holder of the name inherits if this lease ends now at the latest (rules L2, L8).
   *
   * @param now signed time
   * @param earlier what may have been signed by earlier instances
   */
  public Inheritance inheritance(long now, Fence earlier) {
    Watermark watermark = inherited();
    var fence = new Fence(fenceUpTo, fenceLogs);
    if (stated > watermark.timestamp()) {
      watermark = new Watermark(stated, statedAt, statedLatest);
    }
    Id correlation = correlation();
    long inherited = leftBy > 0 ? 0 : generation; // each instance counts its own
    if (state == State.RELEASED) {
      if (fencedOnRelease) {
        watermark = folded(watermark, fence.upTo(), endedAt, endedLatest);
        fence = Fence.NONE;
      }
      return new Inheritance(inherited, correlation, Ending.RELEASED, endedAt, watermark, fence);
    }
    if (state == State.FULL || state == State.ENDED) {
      fence = fence.and(new Fence(expiry, logs));
      if (resumed) {
        // Its holder may not know of this instance, and use the one that signed before; or its
        // successor there (rule L12). So it is for all logs.
        fence = fence.and(earlier).and(new Fence(expiry, LogSet.ALL));
      }
    }
    // Nothing was written under a tentative lease: broken, but its own expiry needs no fence.
    return new Inheritance(inherited, correlation, Ending.BROKEN, now, watermark, fence);
  }

  private Watermark inherited() {
    return new Watermark(inheritedWatermark, inheritedAt, inheritedLatest);
  }

  private void setWatermark(Watermark watermark) {
    inheritedWatermark = watermark.timestamp();
    inheritedAt = watermark.signedTime();
    inheritedLatest = watermark.latest();
  }

  private void setFence(Fence fence) {
    fenceUpTo = fence.upTo();
    fenceLogs = Inheritance.bounded(fence).logs();
  }

  /** The witness of the last lease as it stands; there must be one. */
  public Witness witness(long instance) {
    return new Witness(
        new LeaseName(name),
        holder,
        leftBy > 0 ? leftBy : instance,
        generation,
        state == State.TENTATIVE,
        logs,
        expiry,
        issuedAt,
        correlation(),
        hasPrevious ? Optional.of(new Id(previousHigh, previousLow)) : Optional.empty(),
        previousEnding,
        previousEndedAt,
        inherited(),
        new Fence(fenceUpTo, fenceLogs),
        resumed,
        requireNonNull(issuedIn));
  }

  /** What anyone may know; there must be a lease. */
  public LeaseInfo info(long instance, Moment now) {
    LeaseInfo.State shown;
    if (state == State.RELEASED) {
      shown = LeaseInfo.State.RELEASED;
    } else if (!isHeld(now)) {
      shown = LeaseInfo.State.EXPIRED;
    } else {
      shown =
          switch (state) {
            case FULL -> LeaseInfo.State.HELD;
            case ENDED -> LeaseInfo.State.REVOKED;
            default -> LeaseInfo.State.TENTATIVE;
          };
    }
    return new LeaseInfo(witness(instance), shown, recent);
  }
}
