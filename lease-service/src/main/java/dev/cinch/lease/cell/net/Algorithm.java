package dev.cinch.lease.cell.net;

import dev.cinch.lease.cell.Acceptor;
import dev.cinch.lease.cell.Ballots;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Cell;
import dev.cinch.lease.cell.Proposer;
import dev.cinch.lease.cell.flease.FleaseAcceptor;
import dev.cinch.lease.cell.flease.FleaseProposer;
import dev.cinch.lease.cell.paxos.PaxosLeaseAcceptor;
import dev.cinch.lease.cell.paxos.PaxosLeaseProposer;
import dev.cinch.lease.time.TimeSource;
import java.util.function.LongSupplier;

/** The machines that a cell runs, the same in all its nodes. Immutable. */
public sealed interface Algorithm {
  /** What a cell's file calls it. */
  String name();

  /**
   * The acceptor of a node that starts.
   *
   * @param boot how often it has
   * @param now what its clock shows
   * @param first whether the cell is new: then it is not silent (rule P5)
   */
  Acceptor acceptor(int boot, long now, boolean first);

  /**
   * A proposer for a name that the node has none for.
   *
   * @param resendNanos after so long it sends again what has no answer
   */
  Proposer proposer(Cell cell, Ballots ballots, Bytes name, long resendNanos);

  /** The shortest lease time, nanoseconds. */
  long shortest();

  /** The longest lease time, nanoseconds. */
  long longest();

  /**
   * How far a node's wall clock may be off the common time, nanoseconds; {@link Long#MAX_VALUE} if
   * it does not go by that.
   */
  long clockWithin();

  /** The clock that the machines of a node go by, nanoseconds; thread-safe. */
  LongSupplier clock(TimeSource time);

  static Algorithm paxosLease(dev.cinch.lease.cell.paxos.Durations durations) {
    return new PaxosLease(durations);
  }

  static Algorithm flease(dev.cinch.lease.cell.flease.Durations durations) {
    return new Flease(durations);
  }

  /** PaxosLease: leases last, and clocks are monotonic, each with an origin of its own. */
  record PaxosLease(dev.cinch.lease.cell.paxos.Durations durations) implements Algorithm {
    static final String NAME = "paxoslease";

    @Override
    public String name() {
      return NAME;
    }

    @Override
    public Acceptor acceptor(int boot, long now, boolean first) {
      return new PaxosLeaseAcceptor(durations, boot, now, first);
    }

    @Override
    public Proposer proposer(Cell cell, Ballots ballots, Bytes name, long resendNanos) {
      return new PaxosLeaseProposer(cell, durations, ballots, name, resendNanos);
    }

    @Override
    public long shortest() {
      return 1;
    }

    @Override
    public long longest() {
      return durations.longest();
    }

    @Override
    public long clockWithin() {
      return Long.MAX_VALUE;
    }

    /** Counts from 0, so that no time of it is negative. */
    @Override
    public LongSupplier clock(TimeSource time) {
      long origin = time.monotonicNanos();
      return () -> time.monotonicNanos() - origin;
    }
  }

  /** Flease: leases expire at a time, which is one of the common clock, as ballots are. */
  record Flease(dev.cinch.lease.cell.flease.Durations durations) implements Algorithm {
    static final String NAME = "flease";

    @Override
    public String name() {
      return NAME;
    }

    @Override
    public Acceptor acceptor(int boot, long now, boolean first) {
      return new FleaseAcceptor(durations, now, first);
    }

    @Override
    public Proposer proposer(Cell cell, Ballots ballots, Bytes name, long resendNanos) {
      return new FleaseProposer(cell, durations, ballots, name, resendNanos);
    }

    /** What is no longer than &epsilon; may have expired for acceptors when it begins. */
    @Override
    public long shortest() {
      return durations.epsilon() + 1;
    }

    @Override
    public long longest() {
      return durations.longest();
    }

    @Override
    public long clockWithin() {
      return durations.epsilon() / 2;
    }

    @Override
    public LongSupplier clock(TimeSource time) {
      return new CommonClock(time::wallNanos, durations.epsilon());
    }
  }
}
