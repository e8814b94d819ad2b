package dev.cinch.lease.cell;

import org.jspecify.annotations.Nullable;

/**
 * The number of one attempt, and who makes it: ballots are compared by counter, then boot, then
 * node (PaxosLease, 2.1.4; Flease, 3.5: there the counter is a time). Node and boot together are an
 * <i>incarnation</i>: a node between two starts. No two attempts for a name have the same ballot,
 * ever (rule P4), so a ballot also names the lease that the attempt was about. Immutable.
 *
 * @param counter 0 to {@link #MAX_COUNTER}; 0 only in {@link #NONE}
 * @param boot how often the node has started, from a counter on its disk; from 1
 * @param node as configured, never derived from an address
 */
public record Ballot(long counter, int boot, int node) implements Comparable<Ballot> {
  /** Nobody comes near it by counting, or with nanoseconds since 1970 before 2116. */
  public static final long MAX_COUNTER = 1L << 62;

  /** Below all others. */
  public static final Ballot NONE = new Ballot(0, 0, 0);

  /**
   * @throws IllegalArgumentException if the counter is out of its range
   */
  public Ballot {
    if (counter < 0 || counter > MAX_COUNTER) {
      throw new IllegalArgumentException("a ballot's counter is 0 to 2^62, not " + counter);
    }
  }

  /** Whether both are of one node between two of its starts. */
  public boolean sameOwner(Ballot other) {
    return node == other.node && boot == other.boot;
  }

  /** Above this one and all others of its counter, and nobody's. */
  Ballot next() {
    return new Ballot(Math.min(counter + 1, MAX_COUNTER), 0, 0);
  }

  public boolean below(Ballot other) {
    return compareTo(other) < 0;
  }

  @Override
  public int compareTo(Ballot other) {
    if (counter != other.counter) {
      return counter < other.counter ? -1 : 1;
    }
    return boot != other.boot
        ? Integer.compare(boot, other.boot)
        : Integer.compare(node, other.node);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Ballot b && counter == b.counter && boot == b.boot && node == b.node;
  }

  @Override
  public int hashCode() {
    return (Long.hashCode(counter) * 31 + boot) * 31 + node;
  }

  /** As {@code 17.3@2}: counter, boot, node. */
  @Override
  public String toString() {
    return counter + "." + boot + "@" + node;
  }

  /**
   * The ballots of one incarnation: each is above all that it gave before (rule P4). Proposers of
   * one node share it, so that one that is made anew for a name does not begin again.
   *
   * <p>Not thread-safe. A node whose names are spread over threads has one for each thread, as long
   * as a name stays with its thread until the node starts again.
   */
  public static final class Ballots {
    private final int node;
    private final int boot;
    private long last;
    private long given;

    /**
     * @param node as configured, unlike that of any other proposer
     * @param boot above that of each earlier start; the caller has made it durable
     */
    public Ballots(int node, int boot) {
      this.node = node;
      this.boot = boot;
    }

    public int node() {
      return node;
    }

    public int boot() {
      return boot;
    }

    /**
     * Has all ballots from now on be above a counter. Whoever raises it to the time before each
     * attempt has ballots that say which lease was later, also where acceptors forgot the earlier
     * one: they are silent for longer than clocks are apart.
     *
     * @throws IllegalArgumentException if it is no counter
     */
    public void raise(long counter) {
      last = Math.max(last, new Ballot(counter, boot, node).counter());
    }

    /**
     * The next ballot.
     *
     * @param atLeast its counter is not below this
     * @throws IllegalArgumentException if counters are used up
     */
    Ballot next(long atLeast) {
      var ballot = new Ballot(Math.max(last + 1, atLeast), boot, node);
      last = ballot.counter();
      given++;
      return ballot;
    }

    /** How many ballots it gave. */
    public long given() {
      return given;
    }

    /** The counter of the last ballot that it gave; 0 if it gave none. */
    public long counter() {
      return last;
    }

    @Override
    public String toString() {
      return node + "/" + boot + " last " + last;
    }
  }
}
