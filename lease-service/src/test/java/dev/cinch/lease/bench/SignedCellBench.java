package dev.cinch.lease.bench;

import dev.cinch.lease.AcquireRequest;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.cell.net.CellSettings;
import dev.cinch.lease.cell.net.LoopbackCell;
import dev.cinch.lease.cell.paxos.Durations;
import dev.cinch.lease.register.CellRegister;
import dev.cinch.lease.register.CellSigner;
import dev.cinch.lease.register.LeaseNotary;
import dev.cinch.lease.table.Inheritance;
import dev.cinch.lease.table.LeaseState;
import dev.cinch.lease.table.LeaseStateCodec;
import dev.cinch.lease.table.States;
import dev.cinch.lease.witness.CellKeys;
import dev.cinch.lease.witness.Cells;
import dev.cinch.lease.witness.NodeSigner;
import dev.cinch.lease.witness.Signatures;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Leases that three nodes in this process keep, over loopback UDP: written without signatures, and
 * signed by a majority. {@code run.sh cell} prints it behind what the cell does alone.
 */
public final class SignedCellBench {
  private static final long SECOND = 1_000_000_000;
  private static final int OUTSTANDING = 512;
  private static final int ALONE = 3_000;
  private static final List<Integer> IDS = List.of(1, 2, 3);
  private static final CellKeys KEYS = Cells.of(7, IDS.size());

  private final AtomicInteger failures = new AtomicInteger();
  private final AtomicInteger names = new AtomicInteger();

  private SignedCellBench() {}

  public static void main(String[] args) throws Exception {
    int leases = args.length > 0 ? Integer.parseInt(args[0]) : 60_000;
    int rounds = args.length > 1 ? Integer.parseInt(args[1]) : 3;
    System.out.printf(
        "%,d leases, each written once; signed with %s%n", leases, Signatures.library());
    Path directory = Files.createTempDirectory("cell-bench");
    var durations = new Durations(3_600 * SECOND, 500, 3_600 * SECOND);
    CellSettings settings = CellSettings.DEFAULT.withDatagramBytes(8_192);
    try (var cell = new LoopbackCell(directory, durations, settings)) {
      cell.endQuarantine();
      for (int id : IDS) {
        cell.node(id).notary(new LeaseNotary(KEYS.instance(), new NodeSigner(Cells.node(id))));
      }
      var bench = new SignedCellBench();
      for (int i = 0; i < rounds; i++) {
        bench.run("not signed", registers(cell, false), leases);
        bench.run("signed", registers(cell, true), leases);
      }
      bench.alone("not signed", registers(cell, false).get(0));
      bench.alone("signed", registers(cell, true).get(0));
    }
  }

  private static List<CellRegister> registers(LoopbackCell cell, boolean signed) {
    @Nullable CellSigner signer = signed ? new CellSigner(KEYS, IDS) : null;
    var registers = new ArrayList<CellRegister>();
    for (int id : IDS) {
      registers.add(
          new CellRegister(cell.node(id), RandomGenerator.of("L64X128MixRandom"), signer));
    }
    return registers;
  }

  private static byte[] lease(LeaseName name) {
    var lease = new LeaseState(name.value());
    var request =
        new AcquireRequest(new Id(1, 2), List.of(name), "holder", 10_000, LogSet.ALL, false);
    States.grant(
        lease,
        request,
        Inheritance.origin(dev.cinch.lease.Ending.NONE, dev.cinch.lease.Fence.NONE),
        States.at(States.NOW),
        States.NOW + 10 * SECOND,
        new Id(States.NOW, name.hashCode()));
    return LeaseStateCodec.encode(lease);
  }

  private void run(String what, List<CellRegister> registers, int leases) throws Exception {
    failures.set(0);
    long cpu = cpu();
    long start = System.nanoTime();
    var left = new CountDownLatch(leases);
    var begun = new AtomicInteger();
    for (int i = 0; i < OUTSTANDING * registers.size(); i++) {
      chain(registers.get(i % registers.size()), begun, leases, left);
    }
    left.await();
    double seconds = (System.nanoTime() - start) / 1e9;
    System.out.printf(
        "%,10.0f leases/s %s, %,10.0f a cpu second; %d failed (load %.1f)%n",
        leases / seconds,
        what,
        leases / ((cpu() - cpu) / 1e9),
        failures.get(),
        ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
  }

  private void chain(CellRegister register, AtomicInteger begun, int leases, CountDownLatch left) {
    if (begun.getAndIncrement() < leases) {
      var name = new LeaseName("name-%011d".formatted(names.getAndIncrement()));
      byte[] lease = lease(name);
      var unused =
          register
              .change(name, found -> Optional.of(lease))
              .whenComplete(
                  (written, failure) -> {
                    if (failure != null) {
                      failures.incrementAndGet();
                    }
                    left.countDown();
                    chain(register, begun, leases, left);
                  });
    }
  }

  private static long cpu() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getProcessCpuTime();
  }

  /** One after the other. */
  private void alone(String what, CellRegister register) throws Exception {
    var samples = new Samples();
    for (int i = 0; i < 2 * ALONE; i++) {
      var name = new LeaseName("alone-" + names.getAndIncrement());
      byte[] lease = lease(name);
      long start = System.nanoTime();
      boolean written = register.change(name, found -> Optional.of(lease)).get();
      if (i >= ALONE && written) {
        samples.add(System.nanoTime() - start);
      }
    }
    System.out.printf(
        "a lease alone, %s: p50 %.0f us, p99 %.0f us%n",
        what, samples.percentile(50), samples.percentile(99));
  }
}
