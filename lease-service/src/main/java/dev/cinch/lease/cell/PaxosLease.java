package dev.cinch.lease.cell;

import dev.cinch.lease.cell.Ballot.Ballots;
import dev.cinch.lease.cell.Message.Accept;

/**
 * PaxosLease (Trencseni, 2009; corrected after its author's revision of 2026): leases without
 * synchronised clocks. A lease time is a duration that the owner counts from before its first
 * message, and acceptors from when they accept, a little longer. Clocks are monotonic, each with an
 * origin of its own; their rates are off by a known part at most.
 *
 * @param longest the longest lease time M, in nanoseconds, 1 to 2<sup>50</sup> (13 days)
 * @param rateErrorPpm by how much a clock's rate may be off, &rho;, in parts of a million, 0 to
 *     500,000
 * @param keep nanoseconds that acceptors remember a lease after its end, 0 to 2<sup>60</sup>
 */
public record PaxosLease(long longest, int rateErrorPpm, long keep) implements Algorithm {
  /** What a cell's file calls it. */
  public static final String NAME = "paxoslease";

  private static final double MILLION = 1_000_000;

  /**
   * @throws IllegalArgumentException if one is out of its range
   */
  public PaxosLease {
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

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public Acceptor acceptor(int boot, long now, boolean first) {
    return new Remembering(boot, now, first);
  }

  @Override
  public Proposer proposer(Cell cell, Ballots ballots, Bytes name, long resendNanos) {
    return new Counting(this, cell, ballots, name, resendNanos);
  }

  @Override
  public long shortest() {
    return 1;
  }

  @Override
  public long clockWithin() {
    return Long.MAX_VALUE;
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

  /**
   * An acceptor (2.2 and 3.1): it keeps a lease for its time and the error of both clocks. Not
   * thread-safe.
   */
  private final class Remembering extends Acceptor {
    private static final int LIFE_BITS = 16;
    private static final long MICRO = 1_000;

    private final int boot;

    Remembering(int boot, long now, boolean first) {
      super(first ? now : now + quarantine(), quarantine(), keep, first);
      this.boot = boot;
    }

    @Override
    protected long deadline(Accept accept, long now) {
      return now + stretched(accept.term());
    }

    /**
     * An attempt takes no longer than the longest lease. What comes later than that after the
     * promise, or for a promise of an earlier life, is of an attempt that is over: it would exclude
     * others for nothing, and hide what this acceptor remembers.
     */
    @Override
    protected boolean timely(Accept accept, long now) {
      long age = pledge(now) - accept.pledge();
      return accept.term() > 0
          && accept.term() <= longest
          && age >= 0
          && age <= quarantine() / MICRO + 1;
    }

    /** The life, and the time in microseconds. */
    @Override
    protected long pledge(long now) {
      return ((long) boot << (Long.SIZE - LIFE_BITS)) | ((now / MICRO) & (-1L >>> LIFE_BITS));
    }

    /** The start of an acceptor needs none: the quarantine outlasts all attempts. */
    @Override
    protected Ballot floor() {
      return Ballot.NONE;
    }
  }

  /**
   * A proposer (2.2 and 3.1 to 3.3): it counts ballots, and sends the lease time as a duration. Not
   * thread-safe.
   */
  private static final class Counting extends Proposer {
    Counting(Algorithm by, Cell cell, Ballots ballots, Bytes name, long resendNanos) {
      super(by, cell, ballots, name, resendNanos);
    }

    @Override
    protected long counter(long now, long seen) {
      return seen + 1;
    }

    @Override
    protected long term(long ttl, long deadline) {
      return ttl;
    }
  }
}
