package dev.cinch.lease.bench;

import dev.cinch.lease.bench.CellPeer.Acquisition;
import dev.cinch.lease.bench.CellPeer.Nodes;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Acquisitions of distinct leases at cells of several makes, in turns in this process: as many as
 * they can, and one after the other. Each turn has new nodes, since what they remember grows. The
 * first of the peers is what the others are compared with.
 */
public final class CellTurns {
  private static final int WARMING_UP = 3;
  private static final int ALONE = 2_000;

  private final List<CellPeer> peers;
  private final int leases;
  private final int outstanding;
  private final int rounds;
  private final PrintStream out;

  /** Of one peer: a second of the clock, and of the processor, in each round that counts. */
  private static final class Measured {
    final double[] rates;
    final double[] cpuRates;
    final Samples alone = new Samples();
    int failed;

    Measured(int rounds) {
      rates = new double[rounds];
      cpuRates = new double[rounds];
    }
  }

  /**
   * @param leases how many a turn
   * @param outstanding how many of them at a time at each node
   * @param rounds how many count; a few before them do not
   */
  public CellTurns(List<CellPeer> peers, int leases, int outstanding, int rounds, PrintStream out) {
    this.peers = List.copyOf(peers);
    this.leases = leases;
    this.outstanding = outstanding;
    this.rounds = rounds;
    this.out = out;
  }

  /** Measures and prints the table. */
  public void run() throws Exception {
    var measured = new Measured[peers.size()];
    Arrays.setAll(measured, p -> new Measured(rounds));
    for (int round = -WARMING_UP; round < rounds; round++) {
      for (int p = 0; p < peers.size(); p++) {
        try (Nodes nodes = peers.get(p).start()) {
          alone(nodes, round, measured[p]);
        }
        try (Nodes nodes = peers.get(p).start()) {
          all(nodes, round, measured[p]);
        }
      }
    }
    print(measured);
  }

  /** One after the other, by the first node. */
  private static void alone(Nodes nodes, int round, Measured measured) throws Exception {
    for (int i = 0; i < 2 * ALONE; i++) {
      Acquisition one = nodes.acquisition(0, "alone-" + i);
      var done = new CompletableFuture<Boolean>();
      long start = System.nanoTime();
      one.begin(done::complete);
      boolean granted = done.get();
      if (round >= 0 && i >= ALONE) {
        measured.alone.add(System.nanoTime() - start);
        measured.failed += granted ? 0 : 1;
      }
    }
  }

  private void all(Nodes nodes, int round, Measured measured) throws Exception {
    var ready = new Acquisition[leases];
    for (int i = 0; i < leases; i++) {
      ready[i] = nodes.acquisition(i % nodes.size(), "name-" + (10_000_000_000L + i));
    }
    System.gc();
    var failed = new AtomicInteger();
    var left = new CountDownLatch(leases);
    long cpu = cpu();
    long start = System.nanoTime();
    for (int n = 0; n < nodes.size(); n++) {
      var next = new AtomicInteger(n);
      for (int i = 0; i < outstanding; i++) {
        chain(ready, next, nodes.size(), failed, left);
      }
    }
    left.await();
    if (round >= 0) {
      measured.rates[round] = leases * 1e9 / (System.nanoTime() - start);
      measured.cpuRates[round] = leases * 1e9 / (cpu() - cpu);
      measured.failed += failed.get();
    }
  }

  private static void chain(
      Acquisition[] ready,
      AtomicInteger next,
      int step,
      AtomicInteger failed,
      CountDownLatch left) {
    int i = next.getAndAdd(step);
    if (i < ready.length) {
      ready[i].begin(
          granted -> {
            if (!granted) {
              failed.incrementAndGet();
            }
            left.countDown();
            chain(ready, next, step, failed, left);
          });
    }
  }

  private static long cpu() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getProcessCpuTime();
  }

  private void print(Measured[] measured) {
    out.printf(
        "%nacquisitions of %,d distinct leases, %,d at a time at each of three nodes: medians of"
            + " %d turns; %s is so many times that%n",
        leases, outstanding, rounds, peers.get(0).name());
    out.printf(
        "%-18s %12s  %-24s %12s  %17s  %s%n",
        "", "a second", "", "a cpu second", "alone, p50, p99", "failed");
    for (int p = 0; p < peers.size(); p++) {
      Measured m = measured[p];
      var ratios = new double[rounds];
      Arrays.setAll(ratios, r -> measured[0].rates[r] / m.rates[r]);
      Arrays.sort(ratios);
      String ratio = "%.2f (%.2f to %.2f)".formatted(median(ratios), ratios[0], ratios[rounds - 1]);
      out.printf(
          "%-18s %,12.0f  %-24s %,12.0f  %5.0f us, %5.0f us  %d%n",
          peers.get(p).name(),
          median(m.rates),
          p == 0 ? "" : ratio,
          median(m.cpuRates),
          m.alone.percentile(50),
          m.alone.percentile(99),
          m.failed);
    }
  }

  private static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }
}
