package dev.cinch.lease.bench;

import dev.cinch.lease.cell.Acceptor;
import dev.cinch.lease.cell.Ballot;
import dev.cinch.lease.cell.Bytes;
import dev.cinch.lease.cell.Message;
import dev.cinch.lease.cell.PaxosLease;
import dev.cinch.lease.cell.Step;
import dev.cinch.lease.cell.net.CellNode;
import dev.cinch.lease.cell.net.CellNode.Outcome;
import dev.cinch.lease.cell.net.CellSettings;
import dev.cinch.lease.cell.net.CellStatus;
import dev.cinch.lease.cell.net.LoopbackCell;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;

/**
 * A cell of three nodes in this process, over loopback UDP: what {@code run.sh cell} prints. All
 * three nodes take a third of the load each. Others on the machine take time from it, so that each
 * rate is given for a second of processor too.
 */
public final class CellBench {
  private static final long SECOND = 1_000_000_000;
  private static final long TTL = 1_800 * SECOND;
  private static final long PATIENCE = 20 * SECOND;
  private static final PaxosLease DURATIONS = new PaxosLease(2 * TTL, 500, TTL);
  private static final int OUTSTANDING = 1_024;
  private static final Bytes VALUE = Bytes.of("0123456789abcdef");
  private static final Function<Step.Found, Optional<Bytes>> PROPOSE = f -> Optional.of(VALUE);
  private static final int ENTRIES = 1_000_000;
  private static final int ALONE = 10_000;

  private final LoopbackCell cell;
  private final int leases;
  private final Bytes[] names;
  private final Ballot[] ballots;

  private CellBench(LoopbackCell cell, int leases) {
    this.cell = cell;
    this.leases = leases;
    this.names = new Bytes[leases];
    this.ballots = new Ballot[leases];
    for (int i = 0; i < leases; i++) {
      names[i] = Bytes.of("name-%011d".formatted(i));
      ballots[i] = Ballot.NONE;
    }
  }

  public static void main(String[] args) throws Exception {
    int leases = args.length > 0 ? Integer.parseInt(args[0]) : 600_000;
    int bytes = args.length > 1 ? Integer.parseInt(args[1]) : 1_400;
    int rounds = args.length > 2 ? Integer.parseInt(args[2]) : 3;
    System.out.printf(
        "%d processors, load %.1f; %,d leases, datagrams of %,d bytes%n",
        Runtime.getRuntime().availableProcessors(), load(), leases, bytes);
    perEntry();
    Path directory = Files.createTempDirectory("cell-bench");
    CellSettings settings = CellSettings.DEFAULT.withDatagramBytes(bytes);
    try (var cell = new LoopbackCell(directory, DURATIONS, settings)) {
      cell.endQuarantine();
      new CellBench(cell, leases).run(rounds);
    }
  }

  private static double load() {
    return ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage();
  }

  /** Heap of acceptors. */
  private static void perEntry() {
    Acceptor acceptor = DURATIONS.acceptor(1, 0, false);
    long now = acceptor.quarantinedUntil();
    long before = heap();
    for (int i = 0; i < ENTRIES; i++) {
      Bytes name = Bytes.of("name-%011d".formatted(i));
      var ballot = new Ballot(i + 1, 1, 1);
      acceptor.receive(1, new Message.Prepare(name, ballot), now, (to, m) -> accept(acceptor, m));
    }
    System.out.printf(
        "heap of an acceptor's entry with a name and a value of 16 bytes: %d bytes%n",
        (heap() - before) / acceptor.size());
  }

  private static void accept(Acceptor acceptor, Message answer) {
    if (answer instanceof Message.Promise p) {
      var accept = new Message.Accept(p.name(), p.ballot(), p.pledge(), TTL, VALUE);
      acceptor.receive(1, accept, acceptor.quarantinedUntil(), (to, m) -> {});
    }
  }

  private static long heap() {
    for (int i = 0; i < 3; i++) {
      System.gc();
    }
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }

  private void run(int rounds) throws Exception {
    long before = heap();
    all("acquisitions", this::acquire);
    int rows = cell.node(1).status().get().rows();
    System.out.printf(
        "heap of three nodes, a lease: %d bytes, the names not counted; %,d rows an acceptor%n",
        (heap() - before) / leases, rows);
    for (int i = 0; i < rounds; i++) {
      all("renewals", this::renew);
    }
    for (int i = 0; i < rounds; i++) {
      all("releases", this::release);
      all("acquisitions", this::acquire);
    }
    alone();
    overload();
  }

  /** What is done with a lease; calls back when that is done. */
  private interface Deed {
    void start(int lease, Runnable done);
  }

  private CellNode node(int lease) {
    return cell.nodes.get(lease % cell.nodes.size());
  }

  private void acquire(int lease, Runnable done) {
    node(lease)
        .acquire(names[lease], TTL, PATIENCE, PROPOSE)
        .thenAccept(outcome -> granted(lease, outcome, done));
  }

  private void renew(int lease, Runnable done) {
    node(lease)
        .renew(names[lease], ballots[lease], TTL, PATIENCE, PROPOSE)
        .thenAccept(outcome -> granted(lease, outcome, done));
  }

  private void release(int lease, Runnable done) {
    node(lease).release(names[lease], ballots[lease], 0).thenAccept(held -> done.run());
  }

  private void granted(int lease, Outcome outcome, Runnable done) {
    if (outcome instanceof Outcome.Ended e && e.step() instanceof Step.Granted g) {
      ballots[lease] = g.ballot();
    } else {
      failures.incrementAndGet();
    }
    done.run();
  }

  private final AtomicInteger failures = new AtomicInteger();

  /** Does it with all leases, so many at a time in each node. */
  private void all(String what, Deed deed) throws Exception {
    failures.set(0);
    int nodes = cell.nodes.size();
    CellStatus[] before = statuses();
    long cpu = cpu();
    long start = System.nanoTime();
    var left = new CountDownLatch(leases);
    for (int n = 0; n < nodes; n++) {
      // Begun by the node's own thread from then on; no other counts this node's leases.
      var next = new AtomicInteger(n);
      for (int i = 0; i < OUTSTANDING; i++) {
        chain(deed, next, left);
      }
    }
    left.await();
    double seconds = (System.nanoTime() - start) / 1e9;
    if (failures.get() == leases) {
      throw new IllegalStateException("all " + what + " failed");
    }
    double cpuSeconds = (cpu() - cpu) / 1e9;
    long messages = 0;
    long datagrams = 0;
    long lost = 0;
    CellStatus[] after = statuses();
    for (int n = 0; n < nodes; n++) {
      messages += after[n].traffic().messagesSent() - before[n].traffic().messagesSent();
      messages += after[n].traffic().messagesWithin() - before[n].traffic().messagesWithin();
      datagrams += after[n].traffic().datagramsSent() - before[n].traffic().datagramsSent();
      lost += after[n].traffic().datagramsSent() - before[n].traffic().datagramsSent();
      lost -= after[n].traffic().datagramsReceived() - before[n].traffic().datagramsReceived();
    }
    System.out.printf(
        "%,10.0f %s/s, %,10.0f a cpu second (%.2f cpus, load %.1f);"
            + " each %.2f messages, %.3f datagrams; %d failed, %d datagrams lost or under way%n",
        leases / seconds,
        what,
        leases / cpuSeconds,
        cpuSeconds / seconds,
        load(),
        (double) messages / leases,
        (double) datagrams / leases,
        failures.get(),
        lost);
  }

  private void chain(Deed deed, AtomicInteger next, CountDownLatch left) {
    int lease = next.getAndAdd(cell.nodes.size());
    if (lease < leases) {
      deed.start(
          lease,
          () -> {
            left.countDown();
            chain(deed, next, left);
          });
    }
  }

  private CellStatus[] statuses() throws Exception {
    var statuses = new CellStatus[cell.nodes.size()];
    for (int i = 0; i < statuses.length; i++) {
      statuses[i] = cell.nodes.get(i).status().get();
    }
    return statuses;
  }

  private static long cpu() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getProcessCpuTime();
  }

  /** One after the other. */
  private void alone() throws Exception {
    var samples = new Samples();
    for (int i = 0; i < 2 * ALONE; i++) {
      long start = System.nanoTime();
      Outcome outcome = cell.node(1).acquire(Bytes.of("alone-" + i), TTL, PATIENCE, PROPOSE).get();
      if (i >= ALONE && outcome.isGranted()) {
        samples.add(System.nanoTime() - start);
      }
    }
    System.out.printf(
        "an acquisition alone: p50 %.0f us, p99 %.0f us (load %.1f)%n",
        samples.percentile(50), samples.percentile(99), load());
  }

  /** At fixed rates for two seconds each. */
  private void overload() throws IOException {
    for (int rate : new int[] {10_000, 20_000, 40_000, 80_000, 160_000, 320_000}) {
      overload(rate);
    }
  }

  private void overload(int rate) {
    var granted = new AtomicInteger();
    var refused = new AtomicInteger();
    var other = new AtomicInteger();
    var nanos = new AtomicLong();
    long start = System.nanoTime();
    long end = start + 2 * SECOND;
    int count = 0;
    for (long now = start; now < end; now = System.nanoTime()) {
      int due = (int) ((now - start) * (double) rate / SECOND);
      for (; count < due; count++) {
        long from = now;
        cell.nodes
            .get(count % 3)
            .acquire(Bytes.of("open-" + rate + "-" + count), TTL, SECOND / 2, PROPOSE)
            .thenAccept(
                outcome -> {
                  if (outcome.isGranted()) {
                    granted.incrementAndGet();
                    nanos.addAndGet(System.nanoTime() - from);
                  } else if (outcome == Outcome.Refused.OVERLOADED) {
                    refused.incrementAndGet();
                  } else {
                    other.incrementAndGet();
                  }
                });
      }
      LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(500));
    }
    while (granted.get() + refused.get() + other.get() < count) {
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
    }
    double seconds = (System.nanoTime() - start) / 1e9;
    System.out.printf(
        "asked for %,d a second: %,.0f granted, %,.0f refused as too many, %,.0f otherwise;"
            + " mean %.2f ms until granted%n",
        rate,
        granted.get() / seconds,
        refused.get() / seconds,
        other.get() / seconds,
        nanos.get() / 1e6 / Math.max(1, granted.get()));
  }
}
