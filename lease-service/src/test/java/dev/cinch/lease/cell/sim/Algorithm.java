package dev.cinch.lease.cell.sim;

import dev.cinch.lease.cell.Acceptor;
import dev.cinch.lease.cell.Ballots;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Cell;
import dev.cinch.lease.cell.Proposer;
import dev.cinch.lease.cell.paxos.Durations;
import dev.cinch.lease.cell.paxos.PaxosLeaseAcceptor;
import dev.cinch.lease.cell.paxos.PaxosLeaseProposer;

/** What is simulated. */
enum Algorithm {
  PAXOS_LEASE {
    @Override
    Acceptor acceptor(Plan plan, int boot, long now) {
      return new PaxosLeaseAcceptor(durations(plan), boot, now);
    }

    @Override
    Proposer proposer(Plan plan, Cell cell, Ballots ballots, Bytes name) {
      return new PaxosLeaseProposer(cell, durations(plan), ballots, name, plan.resend());
    }

    private Durations durations(Plan plan) {
      return new Durations(plan.longest(), plan.rateErrorPpm(), plan.keep());
    }

    @Override
    long quarantine(Plan plan) {
      double rho = plan.rateErrorPpm() / 1e6;
      return (long) (plan.longest() * (1 + rho) / (1 - rho));
    }

    @Override
    SimClock clock(Plan plan, Rng rng, long time) {
      return new SimClock(time, rng.below(1_000_000) * Plan.MS, rate(plan, rng));
    }

    @Override
    void disturb(Plan plan, Rng rng, SimClock clock, long time) {
      clock.turn(time, rate(plan, rng));
    }

    private double rate(Plan plan, Rng rng) {
      double rho = plan.rateErrorPpm() / 1e6;
      return switch (rng.below(4)) {
        case 0 -> 1 - rho;
        case 1 -> 1 + rho;
        default -> 1 - rho + 2 * rho * rng.real();
      };
    }
  };

  abstract Acceptor acceptor(Plan plan, int boot, long now);

  abstract Proposer proposer(Plan plan, Cell cell, Ballots ballots, Bytes name);

  /** How long a node that started must be silent, by its clock. */
  abstract long quarantine(Plan plan);

  /** The clock of a node that starts. */
  abstract SimClock clock(Plan plan, Rng rng, long time);

  /** Within what is assumed of clocks. */
  abstract void disturb(Plan plan, Rng rng, SimClock clock, long time);
}
