package dev.cinch.cli.cell;

import dev.cinch.bag.model.Words;
import dev.cinch.cli.base.Progress;
import dev.cinch.lease.time.TimeSource;
import java.time.Duration;
import java.util.List;

/** Asks the nodes of a cell again and again until all of them vote and grant, or for a time. */
final class CellWait {
  /** How often, nanoseconds. */
  private static final long PAUSE_NANOS = 500_000_000;

  private final TimeSource time;
  private final Progress progress;

  /**
   * @param time its monotonic clock says how long it has waited
   * @param progress shows how many vote meanwhile
   */
  CellWait(TimeSource time, Progress progress) {
    this.time = time;
    this.progress = progress;
  }

  /** Asks all nodes once. */
  @FunctionalInterface
  interface Look {
    List<CellNodeLook> nodes() throws InterruptedException;
  }

  /**
   * What the nodes said last: that all vote and grant, unless the time is over.
   *
   * @param most how long to wait; 0: they are asked once
   */
  List<CellNodeLook> untilAllVote(Duration most, Look look) throws InterruptedException {
    long from = time.monotonicNanos();
    try {
      while (true) {
        List<CellNodeLook> nodes = look.nodes();
        long left = most.toNanos() - (time.monotonicNanos() - from);
        long voting = nodes.stream().filter(CellNodeLook::grants).count();
        if (voting == nodes.size() || left <= 0) {
          return nodes;
        }
        progress.show(
            voting,
            " of %d nodes vote and grant; waits for %s".formatted(nodes.size(), Words.span(left)));
        time.sleepNanos(Math.min(left, PAUSE_NANOS));
      }
    } finally {
      progress.end();
    }
  }
}
