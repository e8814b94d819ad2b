package dev.cinch.lease.cell.paxos;

import dev.cinch.lease.cell.Attempt;
import dev.cinch.lease.cell.Ballots;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Cell;
import dev.cinch.lease.cell.Message.Promise;
import dev.cinch.lease.cell.Proposer;

/**
 * A proposer of PaxosLease (2009, 2.2 and 3.1 to 3.3). A name is open to it if a majority of
 * acceptors knows of no live lease, or of none but the one that is renewed. Not thread-safe.
 */
public final class PaxosLeaseProposer extends Proposer {
  private final Durations durations;

  /**
   * @param resendNanos after so long a message is sent again to acceptors that have not answered
   */
  public PaxosLeaseProposer(
      Cell cell, Durations durations, Ballots ballots, Bytes name, long resendNanos) {
    super(cell, ballots, name, resendNanos);
    this.durations = durations;
  }

  @Override
  protected Verdict judge(Attempt attempt) {
    int open = 0;
    int closed = 0;
    for (int i = 0; i < attempt.size(); i++) {
      Promise promise = attempt.promise(i);
      if (promise != null) {
        if (attempt.closedBy(promise.memory())) {
          closed++;
        } else {
          open++;
        }
      }
    }
    int others = attempt.size() - attempt.majority();
    if (open >= attempt.majority()) {
      return Verdict.OPEN;
    }
    if (closed > others) {
      return Verdict.HELD;
    }
    return closed + attempt.refusals() > others ? Verdict.OUTBID : Verdict.WAIT;
  }

  @Override
  protected long counter(long now, long seen) {
    return seen + 1;
  }

  @Override
  protected long term(Attempt attempt) {
    return attempt.ttl();
  }

  @Override
  protected long longest() {
    return durations.longest();
  }
}
