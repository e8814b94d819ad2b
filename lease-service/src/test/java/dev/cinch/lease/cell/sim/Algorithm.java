package dev.cinch.lease.cell.sim;

import dev.cinch.lease.cell.Acceptor;
import dev.cinch.lease.cell.Ballot.Ballots;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Cell;
import dev.cinch.lease.cell.Flease;
import dev.cinch.lease.cell.PaxosLease;
import dev.cinch.lease.cell.Proposer;
import dev.cinch.lease.sim.Rng;
import dev.cinch.lease.sim.SimClock;

/** What is simulated. */
enum Algorithm {
  PAXOS_LEASE {
    @Override
    Acceptor acceptor(Plan plan, int boot, long now) {
      return durations(plan).acceptor(boot, now, false);
    }

    @Override
    Proposer proposer(Plan plan, Cell cell, Ballots ballots, Bytes name) {
      return durations(plan).proposer(cell, ballots, name, plan.resend());
    }

    private PaxosLease durations(Plan plan) {
      return new PaxosLease(plan.longest(), plan.rateErrorPpm(), plan.keep());
    }

    @Override
    long shortest(Plan plan) {
      return plan.shortest();
    }

    @Override
    double elapsed(Plan plan, long shown) {
      return shown / (1 + plan.rateErrorPpm() / 1e6);
    }

    @Override
    long quarantine(Plan plan) {
      double rho = plan.rateErrorPpm() / 1e6;
      return (long) (plan.longest() * (1 + rho) / (1 - rho));
    }

    @Override
    SimClock clock(Plan plan, Rng rng, long time) {
      return SimClock.anywhere(time, rng, SimClock.rate(rng, plan.rateErrorPpm()));
    }

    @Override
    void disturb(Plan plan, Rng rng, SimClock clock, long time) {
      clock.turn(time, SimClock.rate(rng, plan.rateErrorPpm()));
    }
  },

  FLEASE {
    @Override
    Acceptor acceptor(Plan plan, int boot, long now) {
      return durations(plan).acceptor(1, now, false);
    }

    @Override
    Proposer proposer(Plan plan, Cell cell, Ballots ballots, Bytes name) {
      return durations(plan).proposer(cell, ballots, name, plan.resend());
    }

    private Flease durations(Plan plan) {
      return new Flease(plan.longest(), plan.epsilon(), plan.keep());
    }

    /** Above epsilon by what messages take. */
    @Override
    long shortest(Plan plan) {
      return Math.max(plan.shortest(), plan.epsilon() + 50 * Plan.MS);
    }

    @Override
    double elapsed(Plan plan, long shown) {
      return shown;
    }

    @Override
    long quarantine(Plan plan) {
      return plan.longest() + 2 * plan.epsilon();
    }

    @Override
    SimClock clock(Plan plan, Rng rng, long time) {
      return new SimClock(time, anywhere(plan, rng, time), 1);
    }

    /** It steps, forth or back. */
    @Override
    void disturb(Plan plan, Rng rng, SimClock clock, long time) {
      clock.step(time, anywhere(plan, rng, time));
    }

    /** Half of epsilon before the common time to half of it after, and often just there. */
    private long anywhere(Plan plan, Rng rng, long time) {
      long half = plan.epsilon() / 2;
      return 100 * plan.longest() + time + rng.edge(-half, half);
    }
  };

  abstract Acceptor acceptor(Plan plan, int boot, long now);

  abstract Proposer proposer(Plan plan, Cell cell, Ballots ballots, Bytes name);

  /** The shortest lease time with which a lease is to be had. */
  abstract long shortest(Plan plan);

  /** What must have gone by if a node says so, at the least. */
  abstract double elapsed(Plan plan, long shown);

  /** How long a node that started must be silent, by its clock. */
  abstract long quarantine(Plan plan);

  /** The clock of a node that starts. */
  abstract SimClock clock(Plan plan, Rng rng, long time);

  /** Within what is assumed of clocks. */
  abstract void disturb(Plan plan, Rng rng, SimClock clock, long time);
}
