package dev.cinch.lease.rules;

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

/**
 * What is known of the last lease of one name: {@link LeaseRules} makes the next state of it. Times
 * are nanoseconds since the Unix epoch. Immutable and thread-safe.
 *
 * @param state whether it still counts
 * @param request that it was granted to
 * @param from what it took over when it was granted, less what was done with since
 * @param correlation of the lease; renewals and upgrades keep it. Its first half is when the lease
 *     was granted
 * @param term until when it was granted or prolonged
 * @param stated the highest watermark that the holder stated under this lease
 * @param end when it was released; {@link End#NONE} if it was not
 * @param resumed whether an earlier instance granted it (rule L10)
 * @param leftBy the number of the instance that left it to this one (rule L19); 0 if it is this
 *     one's own
 * @param recent where recent messages stand, newest first (rule L7)
 */
@CheckReturnValue
public record LeaseState(
    LeaseName name,
    State state,
    Request request,
    Inheritance from,
    Id correlation,
    Term term,
    Watermark stated,
    End end,
    boolean resumed,
    long leftBy,
    List<LeaseReport.Metadata> recent) {
  /** Whether the last lease still counts; it may have expired all the same. */
  public enum State {
    /** Given back: {@link LeaseState#end} says when. Also of a name without a lease. */
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

  /**
   * What a lease was granted to: the same for all leases of a grant.
   *
   * @param id the secret of the request
   * @param holder in its own words
   * @param durationMs milliseconds
   * @param logs that were asked for
   */
  public record Request(Id id, String holder, long durationMs, boolean tentative, LogSet logs) {
    private static final Request NONE = new Request(new Id(0, 0), "", 0, false, LogSet.NONE);

    static Request of(Operation.Acquire request) {
      return new Request(
          request.id(),
          request.holder(),
          request.durationMs(),
          request.tentative(),
          request.logs());
    }

    /** By nobody: the correlation of a lease is no secret of anybody. */
    Request by(Id correlation, LogSet asked) {
      return new Request(correlation, holder, durationMs, tentative, asked);
    }
  }

  /**
   * How far a lease reaches since it was granted or prolonged last.
   *
   * @param logs that it permits to write to
   * @param steadyUntil until when it excludes others by this machine's steady clock; {@link
   *     Moment#UNSTEADY} where several machines decide
   * @param issuedIn between which times it was at {@code issuedAt}
   */
  public record Term(
      LogSet logs, long expiry, long steadyUntil, long issuedAt, TimeBound issuedIn) {
    private static final Term NONE = new Term(LogSet.NONE, 0, Moment.UNSTEADY, 0, Moment.UNKNOWN);

    /** From now on. */
    static Term of(LogSet logs, Moment now, long expiry) {
      return new Term(logs, expiry, steadyUntil(now, expiry), now.time(), now.bound());
    }

    /** An expiry never moves back, so it is the highest that any witness carried (rule L8). */
    Term prolonged(LogSet widened, Moment now, long newExpiry) {
      return new Term(
          widened,
          Math.max(expiry, newExpiry),
          Math.max(steadyUntil, steadyUntil(now, newExpiry)),
          now.time(),
          now.bound());
    }

    Term until(long steady) {
      return new Term(logs, expiry, steady, issuedAt, issuedIn);
    }

    private static long steadyUntil(Moment now, long expiry) {
      return now.steady() == Moment.UNSTEADY
          ? Moment.UNSTEADY
          : now.steady() + (expiry - now.time());
    }
  }

  /**
   * The release of a lease.
   *
   * @param latest the latest that it could be then; told only where the fence was done with
   * @param fenced whether the holder said that the fence is done with
   */
  public record End(long at, long latest, boolean fenced) {
    static final End NONE = new End(Long.MIN_VALUE, Long.MIN_VALUE, false);
  }

  /** Of a name of which nothing is known. */
  public static LeaseState unknown(LeaseName name) {
    return new LeaseState(
        name,
        State.RELEASED,
        Request.NONE,
        Inheritance.NOTHING,
        Request.NONE.id(),
        Term.NONE,
        Watermark.NONE,
        End.NONE,
        false,
        0,
        List.of());
  }

  /** A lease that follows what {@code from} describes; the name's metadata stay. */
  LeaseState granted(Request to, Inheritance from, Moment now, long expiry, Id newCorrelation) {
    return new LeaseState(
        name,
        to.tentative() ? State.TENTATIVE : State.FULL,
        to,
        from.bounded(),
        newCorrelation,
        Term.of(to.logs(), now, expiry),
        Watermark.NONE,
        End.NONE,
        false,
        0,
        recent);
  }

  /** A lease of an earlier instance that goes on here, as its witness says (rule L10). */
  LeaseState resumed(Operation.Resume by, Witness witness, Moment now, long expiry) {
    return new LeaseState(
        name,
        State.FULL,
        new Request(by.id(), witness.holder(), by.durationMs(), false, witness.logs()),
        new Inheritance(
                0,
                witness.previous().orElse(null),
                witness.previousEnding(),
                witness.previousEndedAt(),
                witness.watermark(),
                witness.fence())
            .bounded(),
        witness.correlation(),
        Term.of(witness.logs(), now, expiry),
        Watermark.NONE,
        End.NONE,
        true,
        0,
        recent);
  }

  private LeaseState with(State to, Term newTerm, End newEnd) {
    return new LeaseState(
        name, to, request, from, correlation, newTerm, stated, newEnd, resumed, leftBy, recent);
  }

  private LeaseState with(Inheritance newFrom, Watermark newStated) {
    return new LeaseState(
        name, state, request, newFrom, correlation, term, newStated, end, resumed, leftBy, recent);
  }

  private LeaseState with(Request to, long by, List<LeaseReport.Metadata> newer) {
    return new LeaseState(
        name, state, to, from, correlation, term, stated, end, resumed, by, newer);
  }

  LeaseState withState(State newState) {
    return with(newState, term, end);
  }

  /** With a fence for all logs (rule L4). */
  LeaseState fencingAll() {
    return with(from.forAllLogs(), stated);
  }

  LeaseState prolonged(LogSet widened, Moment now, long expiry) {
    return with(state, term.prolonged(widened, now, expiry), end);
  }

  /** With a watermark; the highest counts, since renewals can arrive out of order. */
  LeaseState stating(long watermark, Moment now) {
    return watermark > stated.timestamp()
        ? with(from, new Watermark(watermark, now.time(), now.latest()))
        : this;
  }

  /** Once the horizon has passed the fence, which stays a lower bound (rule L8). */
  LeaseState fenced(Moment now) {
    return with(from.fenced(now.time(), now.latest()), stated);
  }

  LeaseState released(Moment now, boolean fenced) {
    return with(
        State.RELEASED, term, new End(now.time(), fenced ? now.latest() : Long.MIN_VALUE, fenced));
  }

  /**
   * Excluding others for as long by a steady clock, too, as is left of it by another machine's
   * clock (rule L18).
   *
   * @param steady the steady clock, when it showed {@code time}
   * @param apart how far ahead of this machine's clock the other one may be
   */
  public LeaseState heldBy(long steady, long time, long apart) {
    return with(state, term.until(steady + Math.max(0, term.expiry() + apart - time)), end);
  }

  /** What an instance leaves to the next one: nobody's secret, and no hint (rule L19). */
  public LeaseState left(long instance) {
    return with(request.by(correlation, term.logs()), isLeft() ? leftBy : instance, List.of());
  }

  /** A released lease as nobody's, so that the request that had it may be granted one anew. */
  public LeaseState disowned() {
    return with(request.by(correlation, request.logs()), leftBy, recent);
  }

  /**
   * With where recent messages stand (rule L7).
   *
   * @param newer newest first
   * @param keep how many to keep, 0 or more
   */
  public LeaseState withMetadata(List<LeaseReport.Metadata> newer, int keep) {
    if (newer.isEmpty()) {
      return this;
    }
    var all = new ArrayList<LeaseReport.Metadata>(newer);
    recent.stream().filter(m -> !newer.contains(m)).forEach(all::add);
    return with(request, leftBy, List.copyOf(all.subList(0, Math.min(keep, all.size()))));
  }

  /**
   * A shorter one, for a backend that has no room for it: without where messages stand, which is a
   * hint; then with a fence for all logs (rule L4). Empty if there is none.
   */
  public Optional<LeaseState> shorter() {
    if (!recent.isEmpty()) {
      return Optional.of(with(request, leftBy, List.of()));
    }
    return from.fence().logs().ids().isEmpty() ? Optional.empty() : Optional.of(fencingAll());
  }

  /** The secret of the request that it was granted to. */
  public Id id() {
    return request.id();
  }

  public String holder() {
    return request.holder();
  }

  public long expiry() {
    return term.expiry();
  }

  /** Counts the leases of the name at its instance, from 1; 0 if there was none. */
  public long generation() {
    return from.generation() + 1;
  }

  /**
   * When it was last granted, prolonged or released; what comes next may not be earlier, whatever
   * another machine's clock says. {@link Long#MIN_VALUE} if there was no lease.
   */
  public long changedAt() {
    return isKnown() ? Math.max(term.issuedAt(), end.at()) : Long.MIN_VALUE;
  }

  /** Whether there was a lease; if not, the first one inherits what its backend knows (L4). */
  public boolean isKnown() {
    return generation() > 0;
  }

  /** Whether a request of this lease's id asks for what it was granted for, names aside. */
  public boolean isFor(Operation.Acquire other) {
    return request.equals(Request.of(other));
  }

  /** The lease, to be ended (rule L11). */
  public Unreleased unreleased() {
    return new Unreleased(name.value(), correlation);
  }

  /** Whether it is this request's, and goes on with that lease of an earlier instance. */
  boolean resumes(Id byRequest, Id lease) {
    return resumed && isUnended() && belongsTo(byRequest) && correlation.equals(lease);
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
    return leftBy > 0 && state == State.FULL && correlation.equals(lease);
  }

  /**
   * Through when anything expires that was signed for its name, by this instance and those before
   * (rule L19).
   *
   * @param longest lease, nanoseconds: one before it may have had that
   * @param earlier what earlier instances may have signed
   */
  public long signedUpTo(long longest, Fence earlier) {
    long own = Math.max(expiry(), grantedAt() + longest);
    // The holder of a resumed one may not know that, and go by the earlier instance (rule L12).
    return resumed && state != State.RELEASED ? Math.max(own, earlier.upTo()) : own;
  }

  /** Whether it is this request's, and was not released. */
  public boolean belongsTo(Id other) {
    return state != State.RELEASED && id().equals(other);
  }

  /** Whether it was this request's, and was released. */
  public boolean isReleasedBy(Id other) {
    return isKnown() && state == State.RELEASED && id().equals(other);
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
    long left = term.expiry() + now.apart() - now.time();
    return term.steadyUntil() == Moment.UNSTEADY || now.steady() == Moment.UNSTEADY
        ? left
        : Math.max(left, term.steadyUntil() - now.steady());
  }

  /** Rule L2: what a watermark must exceed. */
  long lowerBound() {
    return Math.max(from.watermark().timestamp(), from.fence().upTo());
  }

  /** When the lease was granted. */
  long grantedAt() {
    return correlation.high();
  }

  /** Whether the next holder has to fence what this one should have. */
  public boolean carriesFence() {
    return !from.fence().isNone() && !end.fenced();
  }

  /**
   * What the next holder of the name inherits if this lease ends now at the latest (rules L2, L8).
   *
   * @param now signed time
   * @param earlier what may have been signed by earlier instances
   */
  public Inheritance inheritance(long now, Fence earlier) {
    Watermark watermark = from.watermark();
    Fence fence = from.fence();
    if (stated.timestamp() > watermark.timestamp()) {
      watermark = stated;
    }
    long inherited = leftBy > 0 ? 0 : generation(); // each instance counts its own
    if (state == State.RELEASED) {
      var left =
          new Inheritance(inherited, correlation, Ending.RELEASED, end.at(), watermark, fence);
      return end.fenced() ? left.fenced(end.at(), end.latest()) : left;
    }
    if (state == State.FULL || state == State.ENDED) {
      fence = fence.and(new Fence(expiry(), term.logs()));
      if (resumed) {
        // Its holder may not know of this instance, and use the one that signed before; or its
        // successor there (rule L12). So it is for all logs.
        fence = fence.and(earlier).and(new Fence(expiry(), LogSet.ALL));
      }
    }
    // Nothing was written under a tentative lease: broken, but its own expiry needs no fence.
    return new Inheritance(inherited, correlation, Ending.BROKEN, now, watermark, fence);
  }

  /** The witness of the last lease as it stands; there must be one. */
  public Witness witness(long instance) {
    return new Witness(
        name,
        holder(),
        leftBy > 0 ? leftBy : instance,
        generation(),
        state == State.TENTATIVE,
        term.logs(),
        expiry(),
        term.issuedAt(),
        correlation,
        Optional.ofNullable(from.correlation()),
        from.ending(),
        from.endedAt(),
        from.watermark(),
        from.fence(),
        resumed,
        term.issuedIn());
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
