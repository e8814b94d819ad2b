package dev.cinch.lease.cell.flease;

import dev.cinch.lease.cell.Acceptor;
import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Message.Accept;

/**
 * An acceptor of Flease: the register of algorithm 1, which recovers without a disk (3.5). Not
 * thread-safe.
 */
public final class FleaseAcceptor extends Acceptor {
  private final Durations durations;
  private final Ballot floor;

  /**
   * @param now of the common clock, at the start
   */
  public FleaseAcceptor(Durations durations, long now) {
    this(durations, now, false);
  }

  /**
   * Likewise.
   *
   * @param first whether the cell is new: nothing was before, and it is not silent
   */
  public FleaseAcceptor(Durations durations, long now, boolean first) {
    super(
        first ? now : now + durations.quarantine(),
        durations.quarantine(),
        durations.keep(),
        first);
    this.durations = durations;
    this.floor = first ? Ballot.NONE : new Ballot(quarantinedUntil(), 0, 0);
  }

  /** The owner's clock may be &epsilon; behind this one (3.6, algorithm 4). */
  @Override
  protected long deadline(Accept accept, long now) {
    return accept.term() + durations.epsilon();
  }

  /**
   * What has expired by this clock is refused: of an attempt that began before this acceptor
   * started, say, which may have its promise from the earlier life. Algorithm 1 takes it. No
   * attempt that keeps to the longest lease time expires later than by the other bound.
   */
  @Override
  protected boolean timely(Accept accept, long now) {
    return now < accept.term() && accept.term() <= now + durations.longest() + durations.epsilon();
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
