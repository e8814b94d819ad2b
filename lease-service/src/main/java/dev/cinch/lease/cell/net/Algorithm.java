package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Acceptor;
import dev.cinch.lease.cell.Ballots;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Cell;
import dev.cinch.lease.cell.Proposer;
import dev.cinch.lease.cell.paxos.Durations;
import dev.cinch.lease.cell.paxos.PaxosLeaseAcceptor;
import dev.cinch.lease.cell.paxos.PaxosLeaseProposer;

/** The machines that a cell runs, the same in all its nodes. Thread-safe. */
public interface Algorithm {
  /**
   * The acceptor of a node that starts.
   *
   * @param boot how often it has
   * @param now what its clock shows
   */
  Acceptor acceptor(int boot, long now);

  /**
   * A proposer for a name that the node has none for.
   *
   * @param resendNanos after so long it sends again what has no answer
   */
  Proposer proposer(Cell cell, Ballots ballots, Bytes name, long resendNanos);

  /** The longest lease time, nanoseconds. */
  long longest();

  /** PaxosLease, for monotonic clocks. */
  static Algorithm paxosLease(Durations durations) {
    return new Algorithm() {
      @Override
      public Acceptor acceptor(int boot, long now) {
        return new PaxosLeaseAcceptor(durations, boot, now);
      }

      @Override
      public Proposer proposer(Cell cell, Ballots ballots, Bytes name, long resendNanos) {
        return new PaxosLeaseProposer(cell, durations, ballots, name, resendNanos);
      }

      @Override
      public long longest() {
        return durations.longest();
      }
    };
  }
}
