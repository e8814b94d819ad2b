package dev.cinch.lease.cell.sim;

import dev.cinch.lease.sim.CellWorld;
import dev.cinch.lease.sim.Rng;

/**
 * What a seed draws of a world before it begins (swarm testing: most worlds lack most faults).
 *
 * @param acceptors nodes 0, 1, ...; all nodes propose, and some do only that
 * @param longest the longest lease time, in nanoseconds, as all times here
 * @param epsilon how far two clocks are apart at most (Flease)
 * @param end when faults stop
 */
record Plan(
    int acceptors,
    int nodes,
    int names,
    long longest,
    long shortest,
    int rateErrorPpm,
    long epsilon,
    long keep,
    long resend,
    long end,
    double loss,
    double doubled,
    double late,
    double pause,
    double dither,
    double crash,
    double disturb,
    double releases,
    double renewals)
    implements CellWorld.Troubles {
  static final long MS = 1_000_000;

  static Plan of(Rng rng) {
    int acceptors = rng.chance(0.15) ? 5 : 3;
    long longest = 1_000 * MS;
    return new Plan(
        acceptors,
        rng.chance(0.5) ? acceptors : acceptors + rng.below(2),
        rng.chance(0.2) ? 2 : 1,
        longest,
        rng.chance(0.5) ? longest : 50 * MS,
        (int) rng.pick(0, 1_000, 50_000, 200_000),
        rng.ms(0, 10, 100, 400),
        rng.ms(0, 100, 2_000, 20_000),
        rng.ms(20, 100, 5_000),
        rng.between(longest * 3 / 2, 5 * longest),
        rng.pick(0, 0, 0.05, 0.3),
        rng.pick(0, 0, 0.1, 0.4),
        rng.pick(0, 0, 0.05, 0.3),
        rng.pick(0, 0, 0.02, 0.15),
        rng.pick(0, 0.1),
        rng.pick(0, 0.2, 1),
        rng.pick(0, 0.5, 3),
        rng.pick(0, 0.2, 0.6),
        rng.pick(0, 0.5, 0.9));
  }
}
