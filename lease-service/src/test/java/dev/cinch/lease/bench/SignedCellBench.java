package dev.cinch.lease.bench;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Witness;
import dev.cinch.lease.cell.PaxosLease;
import dev.cinch.lease.cell.net.CellSettings;
import dev.cinch.lease.cell.net.LoopbackCell;
import dev.cinch.lease.register.CellRegister;
import dev.cinch.lease.register.CellSigner;
import dev.cinch.lease.register.LeaseNotary;
import dev.cinch.lease.register.LeaseNotary.Limit;
import dev.cinch.lease.register.StateRegister;
import dev.cinch.lease.table.Inheritance;
import dev.cinch.lease.table.LeaseState;
import dev.cinch.lease.table.LeaseStateCodec;
import dev.cinch.lease.table.States;
import dev.cinch.lease.witness.CellKeys;
import dev.cinch.lease.witness.Cells;
import dev.cinch.lease.witness.NodeSigner;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Leases that three nodes in this process keep, over loopback UDP: acquired and renewed without
 * signatures, and signed by a majority. {@code run.sh cell} prints it behind what the cell does
 * alone. What is written is made before the clock starts, so that the register is measured and not
 * the rules of a lease.
 */
public final class SignedCellBench {
  private static final long SECOND = 1_000_000_000;
  private static final int OUTSTANDING = 512;
  private static final int ALONE = 3_000;

  /** How many rounds do not count: until then not all is compiled. */
  private static final int WARMING_UP = 3;

  private static final List<Integer> IDS = List.of(1, 2, 3);
  private static final CellKeys KEYS = Cells.of(7, IDS.size());

  private final int leases;
  private final AtomicInteger failures = new AtomicInteger();
  private final AtomicReference<@Nullable String> firstFailure = new AtomicReference<>();
  private int names;

  /** Leases a second, of each round that counts, by what was done. */
  private final Map<String, List<Double>> rates = new LinkedHashMap<>();

  private SignedCellBench(int leases) {
    this.leases = leases;
  }

  public static void main(String[] args) throws Exception {
    int leases = args.length > 0 ? Integer.parseInt(args[0]) : 60_000;
    int rounds = args.length > 1 ? Integer.parseInt(args[1]) : 5;
    System.out.printf(
        "%,d leases of three nodes, each acquired and renewed once; load %.1f%n",
        leases, ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
    Path directory = Files.createTempDirectory("cell-bench");
    var durations = new PaxosLease(3_600 * SECOND, 500, 3_600 * SECOND);
    CellSettings settings = CellSettings.DEFAULT.withDatagramBytes(8_192);
    try (var cell = new LoopbackCell(directory, durations, settings)) {
      cell.endQuarantine();
      for (int id : IDS) {
        cell.node(id)
            .notary(new LeaseNotary(KEYS.instance(), new NodeSigner(Cells.node(id)), Limit.NONE));
      }
      var bench = new SignedCellBench(leases);
      for (int round = -WARMING_UP; round < rounds; round++) {
        bench.round("not signed", servers(cell, false), round >= 0);
        bench.round("signed", servers(cell, true), round >= 0);
      }
      bench.print();
      bench.alone("not signed", servers(cell, false).get(0));
      bench.alone("signed", servers(cell, true).get(0));
    }
  }

  /** A node's register, and what has the nodes sign what it writes; null if nobody has to. */
  private record Server(CellRegister register, @Nullable CellSigner signer) {
    /** Takes the signatures of what was written, as the service does for its answer. */
    boolean isSigned(Witness witness) {
      return signer == null || signer.sign(List.of(witness)).size() == 1;
    }
  }

  private static List<Server> servers(LoopbackCell cell, boolean signed) {
    var servers = new ArrayList<Server>();
    for (int id : IDS) {
      @Nullable CellSigner signer = signed ? new CellSigner(KEYS, IDS) : null;
      servers.add(
          new Server(
              new CellRegister(cell.node(id), RandomGenerator.of("L64X128MixRandom"), signer),
              signer));
    }
    return servers;
  }

  /** A lease of a name that nobody has had: what is written when it is granted, and renewed. */
  private static final class Lease {
    final LeaseName name;
    final byte[] granted;
    final Witness grant;
    final byte[] renewed;
    final Witness renewal;

    Lease(String name) {
      this.name = new LeaseName(name);
      var request =
          new Operation.Acquire(
              new Id(1, 2), List.of(this.name), "holder", 10_000, LogSet.ALL, false);
      LeaseState state =
          States.grant(
              LeaseState.unknown(this.name),
              request,
              Inheritance.origin(Ending.NONE, Fence.NONE),
              States.at(States.NOW),
              States.NOW + 10 * SECOND,
              new Id(States.NOW, name.hashCode()));
      granted = LeaseStateCodec.encode(state);
      grant = state.witness(KEYS.instance());
      state = States.prolong(state, States.at(States.NOW + SECOND), States.NOW + 11 * SECOND);
      renewed = LeaseStateCodec.encode(state);
      renewal = state.witness(KEYS.instance());
    }

    Optional<byte[]> grant(StateRegister.Found found) {
      return Optional.of(granted);
    }

    /** Nothing, if what is there is not this lease: then the renewal has failed. */
    Optional<byte[]> renew(StateRegister.Found found) {
      return found
          .value()
          .filter(is -> Arrays.equals(is, granted) || Arrays.equals(is, renewed))
          .map(is -> renewed);
    }
  }

  /** What is done with a lease; completes with whether that was so. */
  private interface Deed {
    CompletableFuture<Boolean> begin(Lease lease, Server server);
  }

  private static CompletableFuture<Boolean> acquire(Lease lease, Server server) {
    return server
        .register
        .change(lease.name, lease::grant)
        .thenApply(written -> written && server.isSigned(lease.grant));
  }

  private static CompletableFuture<Boolean> renew(Lease lease, Server server) {
    return server
        .register
        .change(lease.name, lease::renew)
        .thenApply(written -> written && server.isSigned(lease.renewal));
  }

  private void round(String how, List<Server> servers, boolean counts) throws Exception {
    var fresh = new Lease[leases];
    for (int i = 0; i < leases; i++) {
      fresh[i] = new Lease("name-" + (100_000_000 + names++));
    }
    run("acquisitions, " + how, servers, fresh, SignedCellBench::acquire, counts);
    run("renewals, " + how, servers, fresh, SignedCellBench::renew, counts);
  }

  /** Does it with all leases, so many at a time at each node; a lease stays with its node. */
  private void run(String what, List<Server> servers, Lease[] fresh, Deed deed, boolean counts)
      throws Exception {
    System.gc();
    failures.set(0);
    firstFailure.set(null);
    long cpu = cpu();
    long start = System.nanoTime();
    var left = new CountDownLatch(leases);
    for (int n = 0; n < servers.size(); n++) {
      var next = new AtomicInteger(n);
      for (int i = 0; i < OUTSTANDING; i++) {
        chain(servers, n, fresh, deed, next, left);
      }
    }
    left.await();
    double rate = leases * 1e9 / (System.nanoTime() - start);
    if (!counts) {
      return;
    }
    if (failures.get() == leases) {
      throw new IllegalStateException("all " + what + " failed; the first: " + firstFailure.get());
    }
    rates.computeIfAbsent(what, w -> new ArrayList<>()).add(rate);
    System.out.printf(
        "%,10.0f leases/s, %,10.0f a cpu second; %d failed (load %.1f): %s%s%n",
        rate,
        leases * 1e9 / (cpu() - cpu),
        failures.get(),
        ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage(),
        what,
        failures.get() == 0 ? "" : "; the first: " + firstFailure.get());
  }

  private void chain(
      List<Server> servers,
      int node,
      Lease[] fresh,
      Deed deed,
      AtomicInteger next,
      CountDownLatch left) {
    int i = next.getAndAdd(servers.size());
    if (i >= leases) {
      return;
    }
    var unused =
        deed.begin(fresh[i], servers.get(node))
            .whenComplete(
                (good, failure) -> {
                  if (failure != null || !good) {
                    failures.incrementAndGet();
                    firstFailure.compareAndSet(null, String.valueOf(failure));
                  }
                  left.countDown();
                  chain(servers, node, fresh, deed, next, left);
                });
  }

  private static long cpu() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getProcessCpuTime();
  }

  private void print() {
    rates.forEach(
        (what, all) -> {
          double[] sorted = all.stream().mapToDouble(r -> r).sorted().toArray();
          System.out.printf(
              "%,10.0f leases/s, median of %d rounds (%,.0f to %,.0f): %s%n",
              sorted[sorted.length / 2], sorted.length, sorted[0], sorted[sorted.length - 1], what);
        });
  }

  /** One after the other. */
  private void alone(String how, Server server) throws Exception {
    var samples = new Samples();
    for (int i = 0; i < 2 * ALONE; i++) {
      var lease = new Lease("alone-" + names++);
      long start = System.nanoTime();
      boolean good = acquire(lease, server).get();
      if (i >= ALONE && good) {
        samples.add(System.nanoTime() - start);
      }
    }
    System.out.printf(
        "a lease alone, %s: p50 %.0f us, p99 %.0f us%n",
        how, samples.percentile(50), samples.percentile(99));
  }
}
