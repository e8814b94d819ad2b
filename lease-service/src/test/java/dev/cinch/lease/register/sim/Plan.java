package dev.cinch.lease.register.sim;

import dev.cinch.lease.cell.Algorithm;
import dev.cinch.lease.cell.Flease;
import dev.cinch.lease.cell.PaxosLease;
import dev.cinch.lease.cell.net.CellSettings;
import dev.cinch.lease.sim.CellWorld;
import dev.cinch.lease.sim.Rng;

/**
 * What a seed draws of a world before it begins: most worlds lack most faults. Times are
 * nanoseconds.
 *
 * @param nodes 1 to this; each has a server
 * @param longest lease
 * @param apart how far two clocks are apart at most
 * @param keep how long an acceptor remembers
 * @param first whether the cell is new
 * @param end when faults stop
 */
record Plan(
    boolean flease,
    int nodes,
    int names,
    int users,
    long longest,
    long apart,
    int rateErrorPpm,
    long keep,
    long resend,
    boolean first,
    long end,
    double loss,
    double doubled,
    double late,
    double pause,
    double crash,
    double disturb,
    double several,
    double tentative,
    double elsewhere)
    implements CellWorld.Troubles {
  static final long MS = 1_000_000;

  /** Small, so that sets of logs do not fit now and then. */
  private static final int DATAGRAM = 1_400;

  static Plan of(boolean flease, Rng rng) {
    long longest = rng.ms(1_000, 2_000);
    long apart = rng.ms(2, 2, 20, 200);
    return new Plan(
        flease,
        rng.chance(0.1) ? 5 : 3,
        1 + rng.below(3),
        2 + rng.below(3),
        longest,
        apart,
        (int) rng.pick(0, 1_000, 50_000),
        longest + 2 * apart + rng.ms(0, 200, 2_000, 20_000),
        rng.ms(20, 100, 500),
        rng.chance(0.6),
        rng.between(2 * longest, 6 * longest),
        rng.pick(0, 0, 0.03, 0.2),
        rng.pick(0, 0, 0.1, 0.3),
        rng.pick(0, 0, 0.05, 0.2),
        rng.pick(0, 0, 0.01, 0.05),
        rng.pick(0, 0.5, 2),
        rng.pick(0, 0.5, 3),
        rng.pick(0, 0.4, 0.8),
        rng.pick(0, 0.2),
        rng.pick(0.1, 0.5));
  }

  long longestMs() {
    return longest / MS;
  }

  Algorithm algorithm() {
    return flease ? new Flease(longest, apart, keep) : new PaxosLease(longest, rateErrorPpm, keep);
  }

  CellSettings settings() {
    return new CellSettings(DATAGRAM, resend, 2 * MS, 64, 256, 1_024, 1L << 30);
  }
}
