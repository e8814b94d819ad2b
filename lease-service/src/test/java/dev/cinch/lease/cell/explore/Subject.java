package dev.cinch.lease.cell.explore;

import dev.cinch.lease.cell.Acceptor;
import dev.cinch.lease.cell.Ballot.Ballots;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Cell;
import dev.cinch.lease.cell.Flease;
import dev.cinch.lease.cell.PaxosLease;
import dev.cinch.lease.cell.Proposer;
import java.util.List;

/**
 * An algorithm, and what its nodes' clocks may show. Nodes 0 to 2 are acceptors, 3 and 4 proposers.
 * Times are ticks; the machines are given milliseconds.
 */
enum Subject {
  /** Clocks with the same rate. */
  PAXOS_LEASE(2, 0),

  /** Clocks of acceptors are twice as fast as those of proposers. */
  PAXOS_LEASE_RATES(2, 0) {
    @Override
    int rate(int node) {
      return node < PROPOSER ? 2 : 1;
    }

    @Override
    int quarantine() {
      return 5; // some nanoseconds above 4
    }
  },

  /** Each look at a clock may show the time, or a tick more: clocks step whenever they like. */
  FLEASE(3, 1) {
    @Override
    Acceptor acceptor(int boot, long now) {
      return flease().acceptor(1, now, false);
    }

    @Override
    Proposer proposer(Ballots ballots) {
      return flease().proposer(CELL, ballots, NAME, NEVER);
    }

    @Override
    int quarantine() {
      return longest + 2 * slack;
    }
  };

  static final int PROPOSER = 3;
  static final Bytes NAME = Bytes.of("x");
  static final long TICK = 1_000_000;

  /** What clocks show at tick 0. */
  private static final int ORIGIN = 100;

  private static final long NEVER = 1_000_000 * TICK;
  private static final Cell CELL = new Cell(List.of(0, 1, 2), List.of());

  /** The longest lease time. */
  final int longest;

  /** How much more than the time a look at a clock may show. */
  final int slack;

  Subject(int longest, int slack) {
    this.longest = longest;
    this.slack = slack;
  }

  Acceptor acceptor(int boot, long now) {
    return paxos().acceptor(boot, now, false);
  }

  Proposer proposer(Ballots ballots) {
    return paxos().proposer(CELL, ballots, NAME, NEVER);
  }

  private PaxosLease paxos() {
    // (1 + 1/3) / (1 - 1/3) = 2, rounded up: with less these clocks would be off by more than is
    // said.
    int ppm = rate(0) == 1 ? 0 : 333_334;
    return new PaxosLease(longest * TICK, ppm, 0);
  }

  Flease flease() {
    return new Flease(longest * TICK, slack * TICK, 0);
  }

  int rate(int node) {
    return 1;
  }

  /** How many ticks, by its clock, an acceptor that started must be silent. */
  int quarantine() {
    return longest;
  }

  /** The least that a node's clock shows, in ticks; it may be {@link #slack} more. */
  int least(int node, int time) {
    return ORIGIN + time * rate(node);
  }
}
