package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Algorithm;
import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Ballot.Ballots;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Cell;
import dev.cinch.lease.cell.Message;
import dev.cinch.lease.cell.Message.Outbox;
import dev.cinch.lease.cell.Proposer;
import dev.cinch.lease.cell.Step;
import dev.cinch.lease.cell.net.CellNode.Outcome;
import dev.cinch.lease.cell.net.Timers.Timer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The names that a node holds or attempts to: what goes on with each of them. Not thread-safe. */
final class HeldNames {
  /** Beyond so many doublings, an attempt that is outbid waits no longer. */
  private static final int DOUBLINGS = 6;

  private final Algorithm algorithm;
  private final Cell cell;
  private final Ballots ballots;
  private final CellSettings settings;
  private final CellSettings.CellParts parts;
  private final Timers attempts;
  private final Outbox out;
  private final Map<Bytes, Holding> holdings = new HashMap<>();

  /** Of leases that are held; many, and hardly ever touched. */
  private final Timers ends = new Timers();

  private int pursuits;

  /**
   * @param attempts of pursuits: who finds one due calls {@link #wake}
   */
  HeldNames(CellSettings.CellParts parts, Cell cell, Ballots ballots, Timers attempts, Outbox out) {
    this.parts = parts;
    this.algorithm = parts.algorithm();
    this.settings = parts.settings();
    this.cell = cell;
    this.ballots = ballots;
    this.attempts = attempts;
    this.out = out;
  }

  int size() {
    return holdings.size();
  }

  /** How many attempts are under way. */
  int underWay() {
    return pursuits;
  }

  /** When a lease ends next. */
  long next() {
    return ends.next();
  }

  /** Takes note of leases that have ended; returns how many. */
  int due(long now) {
    int count = 0;
    for (Timer t = ends.due(now); t != null; t = ends.due(now)) {
      Holding holding = (Holding) t;
      endLinger(holding, now);
      settle(holding, now);
      count++;
    }
    return count;
  }

  /** Takes an acceptor's answer to a proposer. */
  void receive(int from, Message message, long now) {
    Holding holding = holdings.get(message.name());
    if (holding != null) {
      stepped(holding, holding.proposer.receive(from, message, now, out), now);
      if (holding.lingers && holding.proposer.isKnownByAll()) {
        endLinger(holding, now);
      }
    }
  }

  /** Goes on with an attempt whose time has come. */
  void wake(Pursuit pursuit, long now) {
    Holding holding = holdings.get(pursuit.name);
    if (holding == null || holding.pursuit != pursuit) {
      throw new IllegalStateException("a timer of " + pursuit.name + ", which has none");
    }
    if (pursuit.resting) {
      again(holding, pursuit, now);
    } else {
      stepped(holding, holding.proposer.wake(now, out), now);
    }
  }

  /** Ends all attempts, and gives back what they may have left at acceptors. */
  void giveUp(long now) {
    for (Holding holding : List.copyOf(holdings.values())) {
      Pursuit pursuit = holding.pursuit;
      if (pursuit != null) {
        holding.proposer.giveUp(now, out);
        leave(holding, pursuit, now);
        pursuit.close();
      }
    }
  }

  /** Gives back all that was to be given back. */
  void endLingers(long now) {
    List.copyOf(holdings.values()).forEach(holding -> endLinger(holding, now));
  }

  /** Begins an attempt, or refuses it. */
  void begin(Pursuit pursuit, long now) {
    Holding holding = holdings.get(pursuit.name);
    if (holding != null) {
      endLinger(holding, now);
      holding = holdings.get(pursuit.name);
    }
    Outcome refusal = refusal(pursuit, holding, now);
    if (refusal != null) {
      pursuit.result.complete(refusal);
      return;
    }
    Holding next =
        holding == null
            ? new Holding(algorithm.proposer(cell, ballots, pursuit.name, settings.resendNanos()))
            : holding;
    attempt(next, pursuit, now); // whose first answer comes later
    if (holding == null) {
      holdings.put(pursuit.name, next);
    }
    next.pursuit = pursuit;
    pursuits++;
  }

  private static @Nullable Outcome refusal(Pursuit pursuit, @Nullable Holding holding, long now) {
    if (holding != null && holding.pursuit != null) {
      return Outcome.Refused.BUSY;
    }
    if (pursuit.renewed != null) {
      boolean held = holding != null && holding.isOf(pursuit.renewed, now);
      return held ? null : Outcome.Refused.LOST;
    }
    if (now >= pursuit.beginBy) { // it waited in the queue for too long
      return Outcome.Refused.OVERLOADED;
    }
    return holding != null && holding.proposer.holds(now) ? Outcome.Refused.HELD_HERE : null;
  }

  private void attempt(Holding holding, Pursuit pursuit, long now) {
    Proposer proposer = holding.proposer;
    long patience = pursuit.giveUpAt - now;
    ballots.raise(parts.times().getAsLong());
    if (pursuit.renewed == null) {
      proposer.acquire(now, pursuit.ttl, patience, out);
    } else {
      proposer.renew(now, pursuit.ttl, patience, out);
    }
    attempts.set(pursuit, proposer.wakeAt());
  }

  /** Takes up an attempt again that was outbid. */
  private void again(Holding holding, Pursuit pursuit, long now) {
    pursuit.resting = false;
    boolean lost = pursuit.renewed != null && !holding.proposer.holds(now);
    if (lost || now >= pursuit.giveUpAt) {
      finish(holding, pursuit, unavailable(pursuit), now);
    } else {
      attempt(holding, pursuit, now);
    }
  }

  private void stepped(Holding holding, Step step, long now) {
    Pursuit pursuit = holding.pursuit;
    if (pursuit == null || pursuit.resting) {
      return; // a proposer without an attempt ignores everything
    }
    if (step instanceof Step.Pending) {
      if (pursuit.index < 0 || pursuit.at != holding.proposer.wakeAt()) {
        attempts.set(pursuit, holding.proposer.wakeAt());
      }
    } else if (step instanceof Step.Found found) {
      found(holding, pursuit, found, now);
    } else if (step instanceof Step.Outbid) {
      outbid(holding, pursuit, now);
    } else if (step instanceof Step.Full && pursuit.proposed == null) {
      finish(holding, pursuit, Outcome.Refused.FULL, now);
    } else if (step instanceof Step.Unavailable || step instanceof Step.Full) {
      finish(holding, pursuit, unavailable(pursuit), now);
    } else {
      if (step instanceof Step.Granted granted && pursuit.renewed == null) {
        holding.first = granted.ballot();
      }
      finish(holding, pursuit, new Outcome.Ended(step), now);
    }
  }

  /** Time is over; of an earlier attempt of the pursuit, something may be left at acceptors. */
  private static Outcome unavailable(Pursuit pursuit) {
    Ballot proposed = pursuit.proposed;
    return new Outcome.Ended(
        proposed == null ? new Step.Unavailable() : new Step.Indeterminate(proposed));
  }

  private void found(Holding holding, Pursuit pursuit, Step.Found found, long now) {
    Optional<Bytes> value;
    try {
      value = pursuit.decide.apply(found);
      if (value.isPresent() && value.get().size() > settings.longestValue()) {
        throw new IllegalArgumentException(
            "a value of %d bytes doesn't fit datagrams of %d: %d at most"
                .formatted(value.get().size(), settings.datagramBytes(), settings.longestValue()));
      }
    } catch (RuntimeException e) {
      holding.proposer.giveUp(now, out);
      leave(holding, pursuit, now);
      pursuit.result.completeExceptionally(e);
      return;
    }
    if (value.isEmpty()) {
      holding.proposer.giveUp(now, out);
      finish(holding, pursuit, Outcome.Refused.DECLINED, now);
    } else {
      pursuit.proposed = found.ballot();
      stepped(holding, holding.proposer.propose(found, value.get(), now, out), now);
    }
  }

  /** The first time it was perhaps a ballot too low, and then nobody is in the way. */
  private void outbid(Holding holding, Pursuit pursuit, long now) {
    pursuit.outbid++;
    pursuit.resting = true;
    if (pursuit.outbid == 1) {
      again(holding, pursuit, now);
    } else {
      long most = settings.backoffNanos() << Math.min(pursuit.outbid - 2, DOUBLINGS);
      attempts.set(pursuit, Math.min(pursuit.giveUpAt, now + 1 + parts.random().nextLong(most)));
    }
  }

  private void finish(Holding holding, Pursuit pursuit, Outcome outcome, long now) {
    leave(holding, pursuit, now);
    pursuit.result.complete(outcome);
  }

  private void leave(Holding holding, Pursuit pursuit, long now) {
    attempts.cancel(pursuit);
    holding.pursuit = null;
    pursuits--;
    settle(holding, now);
  }

  /** Waits for the end of what is held, or forgets a name for which nothing is left. */
  private void settle(Holding holding, long now) {
    if (holding.proposer.holds(now)) {
      if (holding.index < 0) { // otherwise it is due before, and comes here again
        ends.set(holding, holding.proposer.heldUntil());
      }
    } else if (holding.pursuit == null) {
      ends.cancel(holding);
      holdings.remove(holding.proposer.name());
    }
  }

  /** Gives a lease back; false if it is not held. */
  boolean release(Request.Release release, long now) {
    Holding holding = holdings.get(release.name());
    if (holding == null || !holding.isOf(release.lease(), now)) { // rule P9
      return false;
    }
    Pursuit pursuit = holding.pursuit;
    if (pursuit == null && release.linger() > 0 && !holding.proposer.isKnownByAll()) {
      holding.lingers = true;
      ends.set(holding, Math.min(now + release.linger(), holding.proposer.heldUntil()));
      return true;
    }
    holding.proposer.release(now, out);
    if (pursuit == null) {
      settle(holding, now);
    } else {
      finish(holding, pursuit, Outcome.Refused.LOST, now);
    }
    return true;
  }

  private void endLinger(Holding holding, long now) {
    if (holding.lingers) {
      holding.lingers = false;
      holding.proposer.release(now, out);
      settle(holding, now);
    }
  }

  /** What a caller wants of a name, through as many attempts as its patience allows. */
  static final class Pursuit extends Timer implements Request {
    final Bytes name;

    /** The lease to be renewed, or none. */
    final @Nullable Ballot renewed;

    final long ttl;
    final long giveUpAt;

    /** Later it is not begun: an attempt that has no time left is work for nothing. */
    final long beginBy;

    final Function<Step.Found, Optional<Bytes>> decide;
    final CompletableFuture<Outcome> result = new CompletableFuture<>();

    /** How often it was outbid. */
    int outbid;

    /** Whether it waits for its next attempt. */
    boolean resting;

    /** The last ballot for which something was proposed. */
    @Nullable Ballot proposed;

    Pursuit(
        Bytes name,
        @Nullable Ballot renewed,
        long ttl,
        long giveUpAt,
        long beginBy,
        Function<Step.Found, Optional<Bytes>> decide) {
      this.name = name;
      this.renewed = renewed;
      this.ttl = ttl;
      this.giveUpAt = giveUpAt;
      this.beginBy = beginBy;
      this.decide = decide;
    }

    @Override
    public CompletableFuture<Outcome> result() {
      return result;
    }

    @Override
    public void close() {
      result.complete(Outcome.Refused.CLOSED);
    }
  }

  /**
   * A name that this node holds, or attempts to: there is one as long as that is so. As a timer it
   * is due when the lease ends, or earlier: then it was renewed meanwhile.
   */
  static final class Holding extends Timer {
    final Proposer proposer;

    /** The first ballot of the lease that is held. */
    Ballot first = Ballot.NONE;

    /** What is under way. */
    @Nullable Pursuit pursuit;

    /** Whether it is to be given back once all acceptors have it. */
    boolean lingers;

    Holding(Proposer proposer) {
      this.proposer = proposer;
    }

    /** Whether a ballot is one of the lease that is held: of its grant, or of a renewal. */
    boolean isOf(Ballot lease, long now) {
      return proposer.holds(now)
          && lease.sameOwner(first)
          && !lease.below(first)
          && !proposer.ballot().below(lease);
    }
  }
}
