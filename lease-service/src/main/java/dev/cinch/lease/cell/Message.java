package dev.cinch.lease.cell;

/**
 * What proposers, acceptors and learners tell each other; PaxosLease, 2.1.2, and Flease, figure 1,
 * call them differently. Immutable. All times in them are durations in nanoseconds, but for {@link
 * Accept#term} in Flease.
 */
public sealed interface Message {
  /** Which lease it is about: 1 to 255 bytes. */
  Bytes name();

  /** To acceptors: promise to accept nothing below a ballot (prepare request; READ). */
  record Prepare(Bytes name, Ballot ballot) implements Message {}

  /**
   * To the proposer: the promise (prepare response; ackREAD).
   *
   * @param ballot that was promised
   * @param pledge to be returned with {@link Accept}: says in which life, and when, it was promised
   */
  record Promise(Bytes name, Ballot ballot, long pledge, Memory memory) implements Message {}

  /**
   * To acceptors that promised: accept a lease (propose request; WRITE). Its owner is the one of
   * the ballot.
   *
   * @param pledge from this acceptor's promise
   * @param term PaxosLease: the lease time; Flease: when it expires, as a time of the common clock
   */
  record Accept(Bytes name, Ballot ballot, long pledge, long term, Bytes value)
      implements Message {}

  /** To the proposer: it is accepted (propose response; ackWRITE). */
  record Accepted(Bytes name, Ballot ballot) implements Message {}

  /**
   * To the proposer: neither promised nor accepted (nackREAD, nackWRITE; PaxosLease has none, and
   * proposers that started again or duel would stall without).
   *
   * @param ballot that is refused
   * @param promised what this acceptor has promised; {@code ballot} is below it, unless a live
   *     lease is in the way, or the attempt took too long
   * @param memory the lease in the way, if it is live
   */
  record Reject(Bytes name, Ballot ballot, Ballot promised, Memory memory) implements Message {}

  /**
   * To acceptors: the owner has stopped acting. It matches the exact lease: that of {@code first},
   * or one of its renewals, of which {@code last} was the last attempt (rule P9).
   */
  record Release(Bytes name, Ballot first, Ballot last) implements Message {}

  /**
   * To learners: a lease is held for so long, counted from when it was sent; 0 if it was released.
   * A hint (rule P6).
   */
  record Learn(Bytes name, Ballot ballot, long nanos, Bytes value) implements Message {}

  /** To acceptors: tell what you know. */
  record Query(Bytes name) implements Message {}

  /** The answer to a query: a hint, of one acceptor. */
  record Told(Bytes name, Memory memory) implements Message {}

  /**
   * To acceptors: tell of which names you have accepted something, in ascending order.
   *
   * @param name only names above this one; one zero byte is below all
   * @param prefix of the names
   * @param token comes back with the answers
   * @param limit how many, 1 to 65,535
   */
  record Names(Bytes name, Bytes prefix, long token, int limit) implements Message {}

  /**
   * A part of the answer; what is missing is to be asked for again.
   *
   * @param name one zero byte
   * @param from how many names earlier parts have
   * @param end what follows this part
   * @param names each behind its length in a byte
   */
  record Named(Bytes name, long token, int from, End end, Bytes names) implements Message {
    /** What follows. */
    public enum End {
      /** Another part. */
      MORE,
      /** Nothing, though there are more names. */
      ENOUGH,
      /** Nothing: these were all. */
      ALL
    }
  }

  /**
   * Where a machine puts what it wants sent. The caller may deliver a message late, never, or
   * several times, in any order, but not altered (PaxosLease, 1.1).
   */
  @FunctionalInterface
  interface Outbox {
    void send(int node, Message message);
  }

  /**
   * What an acceptor knows of a name when it answers: the last lease that it accepted, or that it
   * knows of none. Immutable.
   *
   * @param state how it stands with that lease
   * @param ballot of that lease; {@link Ballot#NONE} if it is {@link State#FORGOTTEN}
   * @param value that was accepted with it; empty if forgotten
   * @param nanos of a live lease, how long the acceptor will still refuse others; of one that
   *     ended, how long ago it stopped; of a forgotten one, how long ago any lease that the
   *     acceptor may have forgotten had ended, at the least
   */
  record Memory(State state, Ballot ballot, Bytes value, long nanos) {
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
}
