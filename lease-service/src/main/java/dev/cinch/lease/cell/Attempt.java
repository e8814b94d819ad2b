package dev.cinch.lease.cell;

import dev.cinch.lease.cell.Message.Memory;
import dev.cinch.lease.cell.Message.Promise;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One attempt of a proposer: a ballot, and what acceptors answered to exactly this ballot, each
 * counted once (rule P1).
 */
final class Attempt {
  enum Phase {
    PREPARING,
    FOUND,
    ACCEPTING
  }

  /** What the promises that are there make of it. */
  enum Verdict {
    /** More answers are needed. */
    WAIT,
    /** The name is open to this attempt. */
    OPEN,
    /** It can't be: another lease is in the way. */
    HELD,
    /** It can't be: higher ballots are in the way. */
    OUTBID
  }

  final Ballot ballot;

  /** What it counts to: before the first message was sent, plus the lease time (rule P2). */
  final long deadline;

  /** The lease time. */
  final long ttl;

  /** When the caller wants an answer, at the latest; not after {@link #deadline}. */
  final long giveUpAt;

  /** The first ballot of the lease that is to be renewed, if it is one. */
  final Ballot base;

  private final Cell cell;
  private final @Nullable Promise[] promises;
  private int rejected;
  private int accepted;

  Phase phase = Phase.PREPARING;
  long resendAt;
  Bytes value = Bytes.EMPTY;
  Memory inTheWay = Memory.forgotten(0);
  Ballot outbidBy = Ballot.NONE;

  Attempt(Cell cell, Ballot ballot, Ballot base, long now, long ttl, long giveUpAt) {
    this.cell = cell;
    this.ballot = ballot;
    this.base = base;
    this.ttl = ttl;
    this.deadline = now + ttl;
    this.giveUpAt = Math.min(giveUpAt, deadline);
    this.promises = new Promise[cell.size()];
  }

  /** The promise of an acceptor, by its place in the cell, once it is there. */
  @Nullable Promise promise(int acceptor) {
    return promises[acceptor];
  }

  /**
   * The name is open if a majority of acceptors knows of no live lease, or of none but the one that
   * is renewed (PaxosLease, 2.2: empty proposals from a majority). Flease reads the value of the
   * highest write from any majority. Open votes are safe there, too, since acceptors refuse to
   * replace a live lease (rule P3), and what one acceptor has of an attempt that failed is not in
   * the way.
   */
  Verdict verdict() {
    int open = 0;
    int closed = 0;
    for (Promise promise : promises) {
      if (promise != null) {
        if (closedBy(promise.memory())) {
          closed++;
        } else {
          open++;
        }
      }
    }
    int others = promises.length - cell.majority();
    if (open >= cell.majority()) {
      return Verdict.OPEN;
    }
    if (closed > others) {
      return Verdict.HELD;
    }
    return closed + Integer.bitCount(rejected) > others ? Verdict.OUTBID : Verdict.WAIT;
  }

  /**
   * Whether a majority has answered, and it takes those that did not: they may be down, and what
   * others did meanwhile is asked for once only.
   */
  boolean isObstructed() {
    if (phase == Phase.ACCEPTING) {
      int refused = Integer.bitCount(rejected & ~accepted);
      return refused > 0 && refused + Integer.bitCount(accepted) >= cell.majority();
    }
    int open = 0;
    int answered = Integer.bitCount(rejected);
    for (Promise promise : promises) {
      if (promise != null) {
        answered++;
        open += closedBy(promise.memory()) ? 0 : 1;
      }
    }
    return phase == Phase.PREPARING && answered >= cell.majority() && open < answered;
  }

  /** Whether an acceptor's last lease stands in this attempt's way. */
  boolean closedBy(Memory memory) {
    return memory.live() && !own(memory);
  }

  /** Whether it is the lease that is renewed: its last ballot, or a renewal of it that failed. */
  boolean own(Memory memory) {
    return base.counter() > 0 && memory.ballot().sameOwner(ballot) && !memory.ballot().below(base);
  }

  /** Whether this is the acceptor's first answer of its kind. */
  boolean addPromise(int acceptor, Promise promise) {
    if (promises[acceptor] != null) {
      return false;
    }
    promises[acceptor] = promise;
    rejected &= ~(1 << acceptor);
    return true;
  }

  void addRefusal(int acceptor) {
    if (promises[acceptor] == null || phase == Phase.ACCEPTING) {
      rejected |= 1 << acceptor;
    }
  }

  void addAccepted(int acceptor) {
    accepted |= 1 << acceptor;
  }

  boolean isAccepted() {
    return Integer.bitCount(accepted) >= cell.majority();
  }

  boolean isAcceptedByAll() {
    return Integer.bitCount(accepted) == cell.size();
  }

  boolean hasAccepted(int acceptor) {
    return (accepted & (1 << acceptor)) != 0;
  }

  /** Whether a majority can't accept any more. */
  boolean isRefused() {
    return promises.length - Integer.bitCount(rejected & ~accepted) < cell.majority();
  }

  Step.Found found() {
    int remembered = 0;
    long quiet = Long.MAX_VALUE;
    List<Memory> lasts = new ArrayList<>(promises.length);
    for (Promise promise : promises) {
      if (promise != null && promise.memory().known()) {
        remembered++;
        add(lasts, promise.memory());
      } else if (promise != null) {
        quiet = Math.min(quiet, promise.memory().nanos());
      }
    }
    boolean enough = remembered >= cell.majority();
    return new Step.Found(ballot, enough, enough ? 0 : quiet, lasts);
  }

  /** Each lease once, as the one says that knows most of its end. */
  private static void add(List<Memory> lasts, Memory memory) {
    int i = 0;
    while (i < lasts.size() && memory.ballot().below(lasts.get(i).ballot())) {
      i++;
    }
    if (i == lasts.size() || !lasts.get(i).ballot().equals(memory.ballot())) {
      lasts.add(i, memory);
    } else if (memory.state() == Memory.State.RELEASED || lasts.get(i).live()) {
      lasts.set(i, memory);
    }
  }

  @Override
  public String toString() {
    var text = new StringBuilder();
    text.append(phase).append(' ').append(ballot).append(" base ").append(base);
    text.append(" until ").append(deadline).append('/').append(giveUpAt).append(' ').append(value);
    text.append(' ').append(rejected).append('/').append(accepted).append(' ').append(resendAt);
    text.append(' ').append(inTheWay).append(' ').append(outbidBy);
    for (Promise promise : promises) {
      text.append(' ').append(promise);
    }
    return text.toString();
  }
}
