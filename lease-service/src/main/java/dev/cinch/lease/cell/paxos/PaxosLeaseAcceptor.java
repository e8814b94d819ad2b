package dev.cinch.lease.cell.paxos;

import dev.cinch.lease.cell.Acceptor;
import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Message.Accept;

/**
 * An acceptor of PaxosLease (2009, 2.2 and 3.1): it keeps a lease for its time and the error of
 * both clocks. Not thread-safe.
 */
public final class PaxosLeaseAcceptor extends Acceptor {
  private static final int LIFE_BITS = 16;
  private static final long MICRO = 1_000;

  private final Durations durations;
  private final int boot;

  /**
   * @param boot how often this node has started, from a counter on its disk
   * @param now of a monotonic clock, at the start
   */
  public PaxosLeaseAcceptor(Durations durations, int boot, long now) {
    this(durations, boot, now, false);
  }

  /**
   * Likewise.
   *
   * @param first whether the cell is new: nothing was before, and it is not silent
   */
  public PaxosLeaseAcceptor(Durations durations, int boot, long now, boolean first) {
    super(
        first ? now : now + durations.quarantine(),
        durations.quarantine(),
        durations.keep(),
        first);
    this.durations = durations;
    this.boot = boot;
  }

  @Override
  protected long deadline(Accept accept, long now) {
    return now + durations.stretched(accept.term());
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
        && accept.term() <= durations.longest()
        && age >= 0
        && age <= durations.quarantine() / MICRO + 1;
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
