package dev.cinch.lease.cell.paxos;

import dev.cinch.lease.cell.Ballots;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Cell;
import dev.cinch.lease.cell.Proposer;

/**
 * A proposer of PaxosLease (2009, 2.2 and 3.1 to 3.3): it counts ballots, and sends the lease time
 * as a duration. Not thread-safe.
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
  protected long counter(long now, long seen) {
    return seen + 1;
  }

  @Override
  protected long term(long ttl, long deadline) {
    return ttl;
  }

  @Override
  protected long shortest() {
    return 1;
  }

  @Override
  protected long longest() {
    return durations.longest();
  }
}
