package dev.cinch.lease.cell.explore;

import java.util.List;

/**
 * A small cell to go through.
 *
 * @param most states to look at, at most, so that it ends
 */
record Scenario(Subject subject, Bounds bounds, long most) {
  /** What a build goes through, in some seconds. */
  static final List<Scenario> SHARE =
      List.of(
          orders(Subject.PAXOS_LEASE, 1, 1),
          orders(Subject.PAXOS_LEASE_RATES, 1, 1),
          new Scenario(Subject.FLEASE, orders(Subject.FLEASE, 0, 1).bounds(), 100_000));

  /** What {@code .ci/thorough} goes through beside that. */
  static final List<Scenario> ALL =
      List.of(
          orders(Subject.FLEASE, 0, 1),
          orders(Subject.PAXOS_LEASE, 1, 3),
          orders(Subject.PAXOS_LEASE_RATES, 1, 3),
          orders(Subject.FLEASE, 0, 4),
          refusals(Subject.PAXOS_LEASE),
          refusals(Subject.FLEASE),
          crash(Subject.PAXOS_LEASE, 4),
          crash(Subject.PAXOS_LEASE_RATES, 4),
          crash(Subject.FLEASE, 6),
          restart(Subject.PAXOS_LEASE),
          restart(Subject.FLEASE),
          tenure(Subject.PAXOS_LEASE),
          tenure(Subject.FLEASE));

  private static final long MOST = 3_000_000;

  /** An attempt of each proposer. */
  private static Scenario orders(Subject subject, int late, int ticks) {
    return new Scenario(subject, new Bounds(1, 1, 1, 0, 0, late, false, 0, 0, ticks), MOST);
  }

  /** Refusals come, and a message comes twice. */
  private static Scenario refusals(Subject subject) {
    return new Scenario(subject, new Bounds(1, 1, 1, 0, 1, 0, true, 0, 0, 1), MOST);
  }

  /** An acceptor starts again. */
  private static Scenario crash(Subject subject, int ticks) {
    return new Scenario(subject, new Bounds(1, 1, 1, 0, 0, 2, false, 1, 0, ticks), MOST);
  }

  /** A proposer starts again. */
  private static Scenario restart(Subject subject) {
    return new Scenario(subject, new Bounds(2, 1, 1, 0, 0, 1, false, 0, 1, 2), MOST);
  }

  /** A lease is renewed for longer or shorter, and released. */
  private static Scenario tenure(Subject subject) {
    return new Scenario(subject, new Bounds(2, 1, 2, 1, 0, 1, false, 0, 0, 3), MOST);
  }
}
