package dev.cinch.lease.cell;

/**
 * The ballots of one incarnation: each is above all that it gave before (rule R4). Proposers of one
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

  @Override
  public String toString() {
    return node + "/" + boot + " last " + last;
  }
}
