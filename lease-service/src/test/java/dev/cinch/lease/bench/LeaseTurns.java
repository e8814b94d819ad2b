package dev.cinch.lease.bench;

import dev.cinch.lease.bench.LeasePeer.Caller;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Full cycles (acquire, renew, release) of several lease services in turns, by 1, 16 and 256
 * callers; and the renewals of leases that Cinch holds, a thousand a grant. The first of the peers
 * is what the others are compared with.
 */
public final class LeaseTurns {
  private static final List<Integer> CALLERS = List.of(1, 16, 256);
  private static final int NAMES_A_GRANT = 1_000;
  private static final int RENEWERS = 16;

  /** How many rounds do not count: until then the client's code is not compiled. */
  private static final int WARMING_UP = 3;

  private static final double NANOS_PER_SECOND = 1e9;

  private final List<? extends LeasePeer> peers;
  private final int rounds;
  private final long nanos;
  private final PrintStream out;

  /** Durations of one caller that is alone, of all rounds that count. */
  private static final class Alone {
    final Samples cycle = new Samples();
    final Samples acquire = new Samples();
    final Samples renew = new Samples();
    final Samples release = new Samples();

    void addAll(Alone others) {
      cycle.addAll(others.cycle);
      acquire.addAll(others.acquire);
      renew.addAll(others.renew);
      release.addAll(others.release);
    }

    /** One cycle, measured. */
    void cycle(Caller caller) throws Exception {
      long began = System.nanoTime();
      caller.acquire();
      long held = System.nanoTime();
      caller.renew();
      long renewed = System.nanoTime();
      caller.release();
      long ended = System.nanoTime();
      acquire.add(held - began);
      renew.add(renewed - held);
      release.add(ended - renewed);
      cycle.add(ended - began);
    }
  }

  /**
   * @param rounds how many count; a few before them do not
   * @param millis how long each turn lasts
   */
  public LeaseTurns(List<? extends LeasePeer> peers, int rounds, long millis, PrintStream out) {
    this.peers = List.copyOf(peers);
    this.rounds = rounds;
    this.nanos = millis * 1_000_000;
    this.out = out;
  }

  /** Measures cycles and prints the tables. */
  public void cycles() throws Exception {
    var rates = new double[peers.size()][CALLERS.size()][rounds];
    var alone = new Alone[peers.size()];
    Arrays.setAll(alone, p -> new Alone());
    for (int round = -WARMING_UP; round < rounds; round++) {
      for (int c = 0; c < CALLERS.size(); c++) {
        for (int p = 0; p < peers.size(); p++) {
          var durations = new Alone();
          double rate = turn(peers.get(p), CALLERS.get(c), durations);
          if (round >= 0) {
            rates[p][c][round] = rate;
            if (CALLERS.get(c) == 1) {
              alone[p].addAll(durations);
            }
          }
        }
      }
    }
    printRates(rates);
    printAlone(alone);
  }

  private double turn(LeasePeer peer, int callers, Alone durations) throws Exception {
    var tasks = new ArrayList<Task>();
    for (int i = 0; i < callers; i++) {
      Caller caller = peer.caller(i);
      Alone mine = i == 0 ? durations : new Alone();
      tasks.add(
          until -> {
            long n = 0;
            while (System.nanoTime() - until < 0) {
              mine.cycle(caller);
              n++;
            }
            return n;
          });
    }
    return rate(tasks);
  }

  /** What one thread does until then; how often it did it. */
  private interface Task {
    long run(long until) throws Exception;
  }

  private double rate(List<Task> tasks) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(tasks.size());
    try {
      long began = System.nanoTime();
      var calls = new ArrayList<Callable<Long>>();
      for (Task task : tasks) {
        calls.add(() -> task.run(began + nanos));
      }
      long sum = 0;
      for (Future<Long> done : pool.invokeAll(calls)) {
        sum += done.get();
      }
      return sum * NANOS_PER_SECOND / (System.nanoTime() - began);
    } finally {
      pool.shutdown();
    }
  }

  private void printRates(double[][][] rates) {
    out.printf(
        "%nfull cycles (acquire, renew, release) a second: medians of %d turns; %s is so many times"
            + " that%n",
        rounds, peers.get(0).name());
    out.printf("%-18s", "");
    CALLERS.forEach(n -> out.printf("  %11s  %-20s", n + (n == 1 ? " caller" : " callers"), ""));
    out.println();
    for (int p = 0; p < peers.size(); p++) {
      out.printf("%-18s", peers.get(p).name());
      for (int c = 0; c < CALLERS.size(); c++) {
        double[] ratios = new double[rounds];
        for (int r = 0; r < rounds; r++) {
          ratios[r] = rates[0][c][r] / rates[p][c][r];
        }
        String ratio = p == 0 ? "" : spread(ratios);
        out.printf("  %11.0f  %-20s", median(rates[p][c]), ratio);
      }
      out.println();
    }
  }

  private void printAlone(Alone[] alone) {
    out.printf("%none unloaded caller, microseconds: p50 and p99%n");
    out.printf(
        "%-18s %19s %19s %19s %19s  %s%n",
        "",
        "cycle",
        "acquire",
        "renew",
        "release",
        "cycle, p50, by that of " + peers.get(0).name());
    for (int p = 0; p < peers.size(); p++) {
      Alone a = alone[p];
      out.printf("%-18s", peers.get(p).name());
      for (Samples s : List.of(a.cycle, a.acquire, a.renew, a.release)) {
        out.printf(" %9.0f %9.0f", s.percentile(50), s.percentile(99));
      }
      out.printf("  %.2f%n", a.cycle.percentile(50) / alone[0].cycle.percentile(50));
    }
  }

  /**
   * Renews so many grants of a thousand leases each, again and again, and prints how many leases a
   * second that is.
   */
  public void renewals(CinchPeer cinch, int grants) throws Exception {
    var held = new ArrayList<Caller>();
    for (int g = 0; g < grants; g++) {
      Caller grant = cinch.grant(g, NAMES_A_GRANT);
      grant.acquire();
      held.add(grant);
    }
    var perSecond = new double[rounds];
    for (int round = -1; round < rounds; round++) {
      var tasks = new ArrayList<Task>();
      for (int i = 0; i < Math.min(RENEWERS, grants); i++) {
        int first = i;
        tasks.add(
            until -> {
              long n = 0;
              for (int g = first; System.nanoTime() - until < 0; g = next(g, first, grants)) {
                held.get(g).renew();
                n += NAMES_A_GRANT;
              }
              return n;
            });
      }
      double rate = rate(tasks);
      if (round >= 0) {
        perSecond[round] = rate;
      }
    }
    for (Caller grant : held) {
      grant.release();
    }
    out.printf(
        "%nrenewals of %,d held leases, %,d a grant, by %d callers: %.0f leases a second (%.0f to"
            + " %.0f)%n",
        grants * NAMES_A_GRANT,
        NAMES_A_GRANT,
        Math.min(RENEWERS, grants),
        median(perSecond),
        Arrays.stream(perSecond).min().orElse(0),
        Arrays.stream(perSecond).max().orElse(0));
  }

  /** Each renewer has its own grants, so that none waits for another's renewal of the same one. */
  private static int next(int grant, int first, int grants) {
    int next = grant + RENEWERS;
    return next < grants ? next : first;
  }

  private static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }

  private static String spread(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return "%.2f (%.2f to %.2f)".formatted(median(values), sorted[0], sorted[sorted.length - 1]);
  }
}
