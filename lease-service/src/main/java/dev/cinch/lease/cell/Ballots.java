package dev.cinch.lease.cell;

/**
 * The ballots of one incarnation: each is above all that it gave before (rule P4). Proposers of one
 * node share it, so that one that is made anew for a name does not begin again.
 *
 * <p>Not thread-safe. A node whose names are spread over threads has one for each thread, as long
 * as a name stays with its thread until the node starts again.
 */
public final class Ballots {
  private final int node;
  private final int boot;
  private long last;

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
    return ballot;
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
