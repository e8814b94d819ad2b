package dev.cinch.lease.cell.flease;

/**
 * The times of a cell; all its nodes have the same. Immutable.
 *
 * @param longest the longest lease time t<sub>max</sub>, in nanoseconds, 1 to 2<sup>50</sup> (13
 *     days), and above &epsilon; (3.1)
 * @param epsilon how far the clocks of two nodes may be apart, &epsilon;, in nanoseconds
 * @param keep nanoseconds that acceptors remember a lease after its end, 0 to 2<sup>60</sup>
 */
public record Durations(long longest, long epsilon, long keep) {
  /**
   * @throws IllegalArgumentException if one is out of its range
   */
  public Durations {
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

  /**
   * How long an acceptor is silent after a start, by its clock: t<sub>max</sub> + 2&epsilon;. A
   * lease that was accepted just before expires a longest time later by a clock that may be
   * &epsilon; ahead, and the clock that counts the wait may step forth by &epsilon; meanwhile.
   */
  public long quarantine() {
    return longest + 2 * epsilon;
  }
}
