package dev.cinch.lease.cell.flease;

import dev.cinch.lease.cell.Ballots;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Cell;
import dev.cinch.lease.cell.Proposer;

/**
 * A proposer of Flease (algorithm 4): its ballots are times, and it sends a lease's expiry. Not
 * thread-safe.
 */
public final class FleaseProposer extends Proposer {
  private final Durations durations;

  /**
   * @param resendNanos after so long a message is sent again to acceptors that have not answered
   */
  public FleaseProposer(
      Cell cell, Durations durations, Ballots ballots, Bytes name, long resendNanos) {
    super(cell, ballots, name, resendNanos);
    this.durations = durations;
  }

  /**
   * The time, or above what was met: a node whose clock is behind would else wait for it. The paper
   * takes ballots for equal that are within &epsilon; (3.6); a is then equal to b, and b to c, and
   * a below c.
   */
  @Override
  protected long counter(long now, long seen) {
    return Math.max(now, seen + 1);
  }

  /**
   * The expiry, which is a lease time after the start of the attempt (rule P2). Algorithms 2 to 4
   * count from the write; then an attempt that is old, and of which an acceptor has forgotten, gets
   * a lease beside that of another.
   */
  @Override
  protected long term(long ttl, long deadline) {
    return deadline;
  }

  /** What is no longer than &epsilon; may have expired for acceptors when it begins. */
  @Override
  protected long shortest() {
    return durations.epsilon() + 1;
  }

  @Override
  protected long longest() {
    return durations.longest();
  }
}
