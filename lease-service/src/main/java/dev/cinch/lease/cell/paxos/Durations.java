package dev.cinch.lease.cell.paxos;

/**
 * The times of a cell; all its nodes have the same. Immutable.
 *
 * @param longest the longest lease time M, in nanoseconds, 1 to 2<sup>50</sup> (13 days)
 * @param rateErrorPpm by how much a clock's rate may be off, &rho;, in parts of a million, 0 to
 *     500,000
 * @param keep nanoseconds that acceptors remember a lease after its end, 0 to 2<sup>60</sup>
 */
public record Durations(long longest, int rateErrorPpm, long keep) {
  private static final double MILLION = 1_000_000;

  /**
   * @throws IllegalArgumentException if one is out of its range
   */
  public Durations {
    if (longest < 1
        || longest > 1L << 50
        || rateErrorPpm < 0
        || rateErrorPpm > 500_000
        || keep < 0
        || keep > 1L << 60) {
      throw new IllegalArgumentException(
          "longest %d ns, rates off by %d ppm, kept for %d ns: out of range"
              .formatted(longest, rateErrorPpm, keep));
    }
  }

  /**
   * What an acceptor's clock counts, at least, while any other node's counts a duration:
   * &middot;(1+&rho;)/(1-&rho;), rounded up.
   */
  long stretched(long nanos) {
    if (rateErrorPpm == 0) {
      return nanos;
    }
    return (long) Math.ceil(nanos * (MILLION + rateErrorPpm) / (MILLION - rateErrorPpm)) + 1;
  }

  /** How long an acceptor is silent after a start, D_Q. */
  public long quarantine() {
    return stretched(longest);
  }
}
