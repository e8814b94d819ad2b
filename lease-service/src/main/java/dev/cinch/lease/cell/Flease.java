package dev.cinch.lease.cell;

import dev.cinch.lease.cell.Ballot.Ballots;
import dev.cinch.lease.cell.Message.Accept;

/**
 * Flease (Kolbeck, H&ouml;gqvist, Stender, Hupfeld): leases between nodes whose clocks show the
 * same, but for &epsilon;. A lease has an expiry, which is a time of that common clock, and a
 * ballot is a time, too.
 *
 * <p>What is assumed of clocks (3.1, 3.6): there is a time that never goes back, and each node's
 * clock shows it with an error of &epsilon;/2 at most to either side, always. So any two clocks are
 * at most &epsilon; apart. The paper wants clocks that never step back; here they may step, forth
 * and back, within that error. A node whose clock is not known to be within it must not take part.
 *
 * <p>Differences from the paper, each with its reason at the code: the expiry counts from the start
 * of the attempt, and not from the write (algorithms 2 to 4); acceptors refuse to replace a live
 * lease, and to accept an expired one (algorithm 1); ballots are compared as they are, and not as
 * equal within &epsilon; (3.6), which is no order; nobody writes back the lease of another
 * (algorithm 2); an acceptor that started has a floor for ballots beside its wait (3.5); leases can
 * be released, as in PaxosLease.
 *
 * @param longest the longest lease time t<sub>max</sub>, in nanoseconds, 1 to 2<sup>50</sup> (13
 *     days), and above &epsilon; (3.1)
 * @param epsilon how far the clocks of two nodes may be apart, &epsilon;, in nanoseconds
 * @param keep nanoseconds that acceptors remember a lease after its end, 0 to 2<sup>60</sup>
 */
public record Flease(long longest, long epsilon, long keep) implements Algorithm {
  /** What a cell's file calls it. */
  public static final String NAME = "flease";

  /**
   * @throws IllegalArgumentException if one is out of its range
   */
  public Flease {
    if (longest < 1
        || longest > 1L << 50
        || epsilon < 0
        || epsilon >= longest
        || keep < 0
        || keep > 1L << 60) {
      throw new IllegalArgumentException(
          "longest %d ns, clocks %d ns apart, kept for %d ns: out of range"
              .formatted(longest, epsilon, keep));
    }
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public Acceptor acceptor(int boot, long now, boolean first) {
    return new Register(now, first);
  }

  @Override
  public Proposer proposer(Cell cell, Ballots ballots, Bytes name, long resendNanos) {
    return new Timing(this, cell, ballots, name, resendNanos);
  }

  /** What is no longer than &epsilon; may have expired for acceptors when it begins. */
  @Override
  public long shortest() {
    return epsilon + 1;
  }

  @Override
  public long clockWithin() {
    return epsilon / 2;
  }

  /**
   * How long an acceptor is silent after a start, by its clock: t<sub>max</sub> + 2&epsilon;. A
   * lease that was accepted just before expires a longest time later by a clock that may be
   * &epsilon; ahead, and the clock that counts the wait may step forth by &epsilon; meanwhile.
   */
  public long quarantine() {
    return longest + 2 * epsilon;
  }

  /**
   * An acceptor: the register of algorithm 1, which recovers without a disk (3.5). Not thread-safe.
   */
  private final class Register extends Acceptor {
    private final Ballot floor;

    Register(long now, boolean first) {
      super(first ? now : now + quarantine(), quarantine(), keep, first);
      this.floor = first ? Ballot.NONE : new Ballot(quarantinedUntil(), 0, 0);
    }

    /** The owner's clock may be &epsilon; behind this one (3.6, algorithm 4). */
    @Override
    protected long deadline(Accept accept, long now) {
      return accept.term() + epsilon;
    }

    /**
     * What has expired by this clock is refused: of an attempt that began before this acceptor
     * started, say, which may have its promise from the earlier life. Algorithm 1 takes it. No
     * attempt that keeps to the longest lease time expires later than by the other bound.
     */
    @Override
    protected boolean timely(Accept accept, long now) {
      return now < accept.term() && accept.term() <= now + longest + epsilon;
    }

    /** The expiry says all that is to be known of an attempt's age. */
    @Override
    protected long pledge(long now) {
      return 0;
    }

    /**
     * The time at which the wait after the start is over: above the ballots of all attempts that
     * began before. The paper trusts that new ballots are higher (3.5). They are, but those of old
     * attempts, still under way, are not.
     */
    @Override
    protected Ballot floor() {
      return floor;
    }
  }

  /** A proposer (algorithm 4): its ballots are times, and it sends a lease's expiry. */
  private static final class Timing extends Proposer {
    Timing(Algorithm by, Cell cell, Ballots ballots, Bytes name, long resendNanos) {
      super(by, cell, ballots, name, resendNanos);
    }

    /**
     * The time, or above what was met: a node whose clock is behind would else wait for it. The
     * paper takes ballots for equal that are within &epsilon; (3.6); a is then equal to b, and b to
     * c, and a below c.
     */
    @Override
    protected long counter(long now, long seen) {
      return Math.max(now, seen + 1);
    }

    /**
     * The expiry, which is a lease time after the start of the attempt (rule P2). Algorithms 2 to 4
     * count from the write; then an attempt that is old, and of which an acceptor has forgotten,
     * gets a lease beside that of another.
     */
    @Override
    protected long term(long ttl, long deadline) {
      return deadline;
    }
  }
}
