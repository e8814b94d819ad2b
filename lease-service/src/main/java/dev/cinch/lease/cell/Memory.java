package dev.cinch.lease.cell;

/**
 * What an acceptor knows of a name when it answers: the last lease that it accepted, or that it
 * knows of none. Immutable.
 *
 * @param state how it stands with that lease
 * @param ballot of that lease; {@link Ballot#NONE} if it is {@link State#FORGOTTEN}
 * @param value that was accepted with it; empty if forgotten
 * @param nanos of a live lease, how long the acceptor will still refuse others; of one that ended,
 *     how long ago it stopped; of a forgotten one, how long ago any lease that the acceptor may
 *     have forgotten had ended, at the least
 */
public record Memory(State state, Ballot ballot, Bytes value, long nanos) {
  /** How it stands with a lease, as one acceptor sees it. */
  public enum State {
    /** Others are refused. */
    LIVE,
    /** Its time ran out. */
    EXPIRED,
    /** Its owner gave it back. */
    RELEASED,
    /** Nothing is known: there was none, or it was long ago, or before the acceptor started. */
    FORGOTTEN
  }

  /** An acceptor that knows of no lease. */
  public static Memory forgotten(long quietNanos) {
    return new Memory(State.FORGOTTEN, Ballot.NONE, Bytes.EMPTY, quietNanos);
  }

  public boolean live() {
    return state == State.LIVE;
  }

  public boolean known() {
    return state != State.FORGOTTEN;
  }
}
