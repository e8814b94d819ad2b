package dev.cinch.lease.cell;

import dev.cinch.lease.cell.Message.Accept;
import dev.cinch.lease.cell.Message.Accepted;
import dev.cinch.lease.cell.Message.Learn;
import dev.cinch.lease.cell.Message.Outbox;
import dev.cinch.lease.cell.Message.Prepare;
import dev.cinch.lease.cell.Message.Promise;
import dev.cinch.lease.cell.Message.Reject;
import dev.cinch.lease.cell.Message.Release;
import dev.cinch.lease.cell.Step.Pending;
import org.jspecify.annotations.Nullable;

/**
 * The proposer of both algorithms for one name (PaxosLease, 2.2 and 3; Flease, algorithms 1 to 4).
 * It proposes nobody but itself.
 *
 * <p>An attempt has two halves, and the caller's turn is between them: {@link #acquire} or {@link
 * #renew}, then messages until a {@link Step.Found}, then {@link #propose} with the value to agree
 * on, then messages until a {@link Step.Granted}. All other steps but {@link Pending} end the
 * attempt. What was held stays held until {@link #heldUntil} whatever an attempt ends in.
 *
 * <p>Costs: some 100 bytes without an attempt and without its name, which may be shared. Not
 * thread-safe.
 */
public abstract class Proposer {
  private final Algorithm algorithm;
  private final Cell cell;
  private final Ballot.Ballots ballots;
  private final Bytes name;
  private final long resendNanos;

  /** The lease that is held, or was the last: its first ballot, its last, and its end. */
  private Ballot base = Ballot.NONE;

  private Ballot held = Ballot.NONE;
  private long heldUntil;

  /** The highest counter met. */
  private long seen;

  private @Nullable Attempt attempt;

  /** What was granted last, while it is held, until all acceptors have it. */
  private @Nullable Attempt granted;

  /**
   * @param resendNanos after so long a message is sent again to acceptors that have not answered
   */
  protected Proposer(
      Algorithm algorithm, Cell cell, Ballot.Ballots ballots, Bytes name, long resendNanos) {
    this.algorithm = algorithm;
    this.cell = cell;
    this.ballots = ballots;
    this.name = name;
    this.resendNanos = resendNanos;
  }

  /** The counter of a new ballot is at least this. */
  protected abstract long counter(long now, long seen);

  /**
   * What an accept says of the lease's time.
   *
   * @param ttl the lease time
   * @param deadline when it ends if it is granted, by this proposer's clock
   */
  protected abstract long term(long ttl, long deadline);

  public final Bytes name() {
    return name;
  }

  /** Whether this proposer is the owner, at a time of its own clock. */
  public final boolean holds(long now) {
    return now < heldUntil; // rule P8: not at its end
  }

  /**
   * The end of what it holds or held last, by its own clock; 0 once it was released, or something
   * was done because it had ended. A clock that is set back then makes nobody owner again.
   */
  public final long heldUntil() {
    return heldUntil;
  }

  /** The ballot of the lease that it holds, or held last. */
  public final Ballot ballot() {
    return held;
  }

  public final boolean isTrying() {
    return attempt != null;
  }

  /**
   * Begins an attempt to get the lease; one that is under way is given up.
   *
   * @param ttl nanoseconds that it is to last, from now; the time until it is granted is part of it
   * @param patience after so many nanoseconds without success the attempt ends
   * @throws IllegalArgumentException if the ttl is not between the shortest and the longest
   * @throws IllegalStateException if it is held
   */
  public final void acquire(long now, long ttl, long patience, Outbox out) {
    if (holds(now)) {
      throw new IllegalStateException("held until " + heldUntil + ", to be renewed");
    }
    heldUntil = 0;
    begin(Ballot.NONE, now, ttl, now + patience, out);
  }

  /**
   * Begins an attempt to hold the lease for longer; if it fails, or its end comes before the old
   * one, the old end stays (rule P7).
   *
   * @throws IllegalArgumentException if the ttl is not between the shortest and the longest
   * @throws IllegalStateException if it is not held: then it is to be acquired
   */
  public final void renew(long now, long ttl, long patience, Outbox out) {
    if (!holds(now)) {
      throw new IllegalStateException("not held any more");
    }
    begin(base, now, ttl, Math.min(now + patience, heldUntil), out);
  }

  private void begin(Ballot from, long now, long ttl, long giveUpAt, Outbox out) {
    if (ttl < algorithm.shortest() || ttl > algorithm.longest()) {
      throw new IllegalArgumentException(
          "a lease time is %d to %d ns, not %d"
              .formatted(algorithm.shortest(), algorithm.longest(), ttl));
    }
    giveUp(now, out);
    Ballot ballot = ballots.next(counter(now, seen)); // rule P4
    attempt = new Attempt(cell, ballot, from, now, ttl, giveUpAt); // rule P2
    send(attempt, now, out);
  }

  /**
   * Goes on after {@link Step.Found}.
   *
   * @param found by the attempt under way, from which the value was made
   * @param value to agree on
   * @throws IllegalStateException if another attempt found it, or one that has ended
   */
  public final Step propose(Step.Found found, Bytes value, long now, Outbox out) {
    Attempt current = attempt;
    if (current == null || !waitsFor(found)) {
      throw new IllegalStateException(found.ballot() + " waits for no value");
    }
    if (now >= current.giveUpAt) {
      return end(current, now, out);
    }
    current.value = value;
    current.phase = Attempt.Phase.ACCEPTING;
    send(current, now, out);
    return Pending.PENDING;
  }

  /** Gives up an attempt, if there is one. A lease that is held stays held. */
  public final void giveUp(long now, Outbox out) {
    if (attempt != null) {
      end(attempt, now, out);
    }
  }

  /**
   * Ends the lease. The caller has stopped acting before. Without effect if it was released; if it
   * has just ended, acceptors may keep it for a little longer. Those that the message doesn't reach
   * wait for the end.
   */
  public final void release(long now, Outbox out) {
    Ballot last = attempt == null ? held : attempt.ballot;
    boolean ended = heldUntil == 0;
    giveUp(now, out);
    if (!ended) {
      heldUntil = 0;
      granted = null;
      toAcceptors(new Release(name, base, last), out);
      cell.tell(new Learn(name, held, 0, Bytes.EMPTY), out);
    }
  }

  /** Whether all acceptors have the lease that was granted last, or it is over. */
  public final boolean isKnownByAll() {
    return granted == null;
  }

  /** Whether the attempt that found something still waits for {@link #propose}. */
  public final boolean waitsFor(Step.Found found) {
    return attempt != null
        && attempt.phase == Attempt.Phase.FOUND
        && attempt.ballot.equals(found.ballot());
  }

  /**
   * When to call {@link #wake}, at the latest; {@link Long#MAX_VALUE} if never. When a lease that
   * is held ends, {@link #heldUntil} says.
   */
  public final long wakeAt() {
    return attempt == null ? Long.MAX_VALUE : Math.min(attempt.resendAt, attempt.giveUpAt);
  }

  /** Sends again what has no answer, or ends the attempt. Does nothing if it comes too early. */
  public final Step wake(long now, Outbox out) {
    Attempt current = attempt;
    if (current == null) {
      return Pending.PENDING;
    }
    if (now >= current.giveUpAt) {
      return end(current, now, out);
    }
    if (now >= current.resendAt) {
      if (current.isObstructed()) {
        // Another attempt may have been in the way, and is over by now; only a new one finds that.
        return refused(current, now, out);
      }
      send(current, now, out);
    }
    return Pending.PENDING;
  }

  /**
   * Takes a message; those that are not for proposers, and not for the attempt under way, are
   * ignored. A {@link Learn} never makes an owner (rule P6).
   *
   * @param from the node that sent it
   * @param now what this node's clock shows
   */
  public final Step receive(int from, Message message, long now, Outbox out) {
    int acceptor = cell.indexOf(from);
    if (acceptor < 0 || !message.name().equals(name)) {
      return Pending.PENDING;
    }
    if (granted != null && holds(now)) {
      complete(granted, acceptor, message, out);
    }
    Attempt current = attempt;
    if (current == null) {
      return Pending.PENDING;
    }
    if (now >= current.giveUpAt) { // rule P2: in every handler
      return end(current, now, out);
    }
    if (message instanceof Promise promise && promise.ballot().equals(current.ballot)) {
      return promised(current, acceptor, promise, out);
    }
    if (message instanceof Reject reject && reject.ballot().equals(current.ballot)) {
      return rejected(current, acceptor, reject, now, out);
    }
    if (message instanceof Accepted accepted && accepted.ballot().equals(current.ballot)) {
      return accepted(current, acceptor, now, out);
    }
    return Pending.PENDING;
  }

  /** A majority has it already; the others are to remember it, too. */
  private void complete(Attempt last, int acceptor, Message message, Outbox out) {
    if (message instanceof Promise late && late.ballot().equals(last.ballot)) {
      sendAccept(last, acceptor, late, out);
    } else if (message instanceof Accepted also && also.ballot().equals(last.ballot)) {
      last.addAccepted(acceptor);
      if (last.isAcceptedByAll()) {
        granted = null;
      }
    }
  }

  private Step promised(Attempt current, int acceptor, Promise promise, Outbox out) {
    if (!current.addPromise(acceptor, promise)) {
      return Pending.PENDING;
    }
    if (current.closedBy(promise.memory())) {
      current.inTheWay = promise.memory();
    }
    if (current.phase == Attempt.Phase.ACCEPTING) {
      sendAccept(current, acceptor, promise, out);
      return Pending.PENDING;
    }
    return current.phase == Attempt.Phase.PREPARING ? judged(current) : Pending.PENDING;
  }

  private Step judged(Attempt current) {
    return switch (current.verdict()) {
      case WAIT -> Pending.PENDING;
      case OPEN -> {
        current.phase = Attempt.Phase.FOUND;
        yield current.found();
      }
      case HELD -> {
        attempt = null;
        yield heldByAnother(current);
      }
      case OUTBID -> {
        attempt = null;
        yield outbid(current, true);
      }
    };
  }

  /** Acceptors refuse a ballot that is not too low, and no lease in the way, for want of room. */
  private static Step outbid(Attempt current, boolean preparing) {
    boolean full = preparing && !current.inTheWay.live() && !current.ballot.below(current.outbidBy);
    return full ? new Step.Full() : new Step.Outbid(current.outbidBy);
  }

  private static Step heldByAnother(Attempt current) {
    return new Step.Held(current.inTheWay, current.inTheWay.nanos());
  }

  private Step rejected(Attempt current, int acceptor, Reject reject, long now, Outbox out) {
    seen = Math.max(seen, reject.promised().counter());
    if (current.outbidBy.below(reject.promised())) {
      current.outbidBy = reject.promised();
    }
    if (current.closedBy(reject.memory())) {
      current.inTheWay = reject.memory();
    }
    current.addRefusal(acceptor);
    if (current.phase == Attempt.Phase.PREPARING) {
      return judged(current);
    }
    if (current.phase == Attempt.Phase.ACCEPTING && current.isRefused()) {
      return refused(current, now, out);
    }
    return Pending.PENDING;
  }

  /** Ends an attempt for what acceptors said. */
  private Step refused(Attempt current, long now, Outbox out) {
    boolean outbid = current.ballot.below(current.outbidBy) || !current.inTheWay.live();
    boolean preparing = current.phase == Attempt.Phase.PREPARING;
    end(current, now, out);
    return outbid ? outbid(current, preparing) : heldByAnother(current);
  }

  private Step accepted(Attempt current, int acceptor, long now, Outbox out) {
    if (current.phase != Attempt.Phase.ACCEPTING) {
      return Pending.PENDING;
    }
    current.addAccepted(acceptor);
    if (!current.isAccepted()) {
      return Pending.PENDING;
    }
    attempt = null;
    granted = current.isAcceptedByAll() ? null : current;
    boolean renewal = current.base.counter() > 0;
    base = renewal ? current.base : current.ballot;
    held = current.ballot;
    heldUntil = renewal ? Math.max(heldUntil, current.deadline) : current.deadline; // rule P7
    cell.tell(new Learn(name, held, heldUntil - now, current.value), out);
    return new Step.Granted(held, heldUntil);
  }

  /** Ends an attempt that did not succeed. */
  private Step end(Attempt current, long now, Outbox out) {
    attempt = null;
    if (current.phase != Attempt.Phase.ACCEPTING) {
      return new Step.Unavailable();
    }
    if (!holds(now)) {
      // Nobody acts on what acceptors may hold, and nobody will: it need not be waited for.
      heldUntil = 0; // also if this clock is set back
      Ballot first = current.base.counter() > 0 ? current.base : current.ballot;
      toAcceptors(new Release(name, first, current.ballot), out);
    }
    return new Step.Indeterminate(current.ballot);
  }

  private void send(Attempt current, long now, Outbox out) {
    current.resendAt = now + resendNanos;
    Prepare prepare = new Prepare(name, current.ballot);
    for (int i = 0; i < cell.size(); i++) {
      Promise promise = current.promise(i);
      if (promise == null) {
        out.send(cell.acceptor(i), prepare);
      } else if (current.phase == Attempt.Phase.ACCEPTING && !current.hasAccepted(i)) {
        sendAccept(current, i, promise, out);
      }
    }
  }

  private void sendAccept(Attempt current, int acceptor, Promise promise, Outbox out) {
    out.send(
        cell.acceptor(acceptor),
        new Accept(
            name,
            current.ballot,
            promise.pledge(),
            term(current.ttl, current.deadline),
            current.value));
  }

  private void toAcceptors(Message message, Outbox out) {
    for (int i = 0; i < cell.size(); i++) {
      out.send(cell.acceptor(i), message);
    }
  }

  /** All that it knows. */
  @Override
  public String toString() {
    return "%s base %s held %s until %d seen %d; %s; granted %s"
        .formatted(name, base, held, heldUntil, seen, attempt, granted);
  }
}
