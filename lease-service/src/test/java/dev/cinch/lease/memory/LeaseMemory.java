package dev.cinch.lease.memory;

import static dev.cinch.lease.memory.Rig.at;

import dev.cinch.lease.AcquireRequest;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;

/**
 * How much heap held leases take (section 11; docs/decisions/lease-memory.md): fills a table with
 * leases of distinct names of 24 characters, holders and ids, and says how many bytes each takes
 * after a collection, how many were granted a second, and whether all still answers. Not a test.
 *
 * <pre>java -Xmx2g -cp ... dev.cinch.lease.memory.LeaseMemory [LEASES] [history]</pre>
 *
 * <p>With {@code history} each name was held and released before, and its holder has stated a
 * watermark.
 */
public final class LeaseMemory {
  private static final long START = 1_795_240_579_787_123_456L;
  private static final long LEASE_MS = 60_000;

  /** Splittable ones are not thread-safe, and one thread is all there is. */
  private final SplittableRandom random = new SplittableRandom(1);

  private final LeaseTable table;
  private final int leases;

  private LeaseMemory(int leases, TableLimits limits) {
    this.leases = leases;
    this.table =
        new LeaseTable(limits, 1, Inheritance.origin(Ending.NONE, Fence.NONE), Optional.empty());
  }

  public static void main(String[] args) throws Exception {
    int leases = args.length > 0 ? Integer.parseInt(args[0]) : 10_000_000;
    boolean history = args.length > 1 && args[1].equals("history");
    long heap = Runtime.getRuntime().maxMemory();
    TableLimits limits = TableLimits.forHeap(heap);
    System.out.printf(
        "heap %,d bytes, which is for %,d names; %,d leases%s%n",
        heap,
        (long) limits.partitions() * limits.maxEntriesPerPartition(),
        leases,
        history ? ", each the second of its name and with a watermark" : "");
    new LeaseMemory(leases, limits).run(history);
  }

  private void run(boolean history) throws Exception {
    long before = used();
    long started = System.nanoTime();
    for (int i = 0; i < leases; i++) {
      if (history) {
        Id first = acquire(i);
        table.release(first, wrote(i), at(START + i));
      }
      Id id = acquire(i);
      if (history) {
        var unused =
            table.renew(id, LEASE_MS, LogSet.NONE, wrote(i + 1), at(START + i + 1), Long.MAX_VALUE);
      }
    }
    double seconds = (System.nanoTime() - started) / 1e9;
    long bytes = used() - before;
    System.out.printf(
        "%,d bytes, %.1f a lease; %,.0f %s a second with one thread%n",
        bytes, (double) bytes / leases, leases / seconds, history ? "rounds" : "grants");
    answers();
  }

  private Id acquire(int i) throws Exception {
    var id = new Id(random.nextLong(), random.nextLong());
    var unused =
        table.acquire(
            new AcquireRequest(id, List.of(name(i)), holder(i), LEASE_MS, LogSet.ALL, false),
            at(START + i),
            Long.MAX_VALUE);
    return id;
  }

  private static LeaseReport wrote(int i) {
    return new LeaseReport(OptionalLong.of(START + i), false, List.of());
  }

  /** Names are held by their holders, nobody else gets one, and the list has pages. */
  private void answers() {
    long now = START + leases;
    for (int i = 0; i < leases; i += 97) {
      String holder = table.show(name(i), now).orElseThrow().witness().holder();
      check(holder.equals(holder(i)), "another holder: " + holder);
    }
    for (int i = 0; i < leases; i += Math.max(1, leases / 1_000)) {
      check(!granted(i, now), "granted twice: " + name(i));
    }
    Optional<LeaseName> last = Optional.empty();
    for (int page = 1; page * 1_000 <= leases && page <= 10; page++) {
      var listed = table.list("", last, 1_000, now);
      check(listed.size() == 1_000, "a page of " + listed.size());
      last = Optional.of(listed.get(999).witness().name());
    }
    System.out.println(
        "every 97th name is shown as held, a thousand are refused to others, pages follow each"
            + " other");
  }

  private boolean granted(int i, long now) {
    var request =
        new AcquireRequest(
            new Id(random.nextLong(), 7), List.of(name(i)), "other", LEASE_MS, LogSet.ALL, false);
    try {
      return !table.acquire(request, at(now), Long.MAX_VALUE).isEmpty();
    } catch (LeaseRefusedException | UnendedException e) {
      return false;
    }
  }

  private static void check(boolean good, String problem) {
    if (!good) {
      throw new IllegalStateException(problem);
    }
  }

  /** 24 characters, in no order. */
  private static LeaseName name(int i) {
    return new LeaseName(String.format("tenant/%08x/%08d", i * 0x9E3779B9, i));
  }

  private static String holder(int i) {
    return "host-" + i;
  }

  @SuppressWarnings("SystemGc")
  private static long used() {
    Runtime runtime = Runtime.getRuntime();
    System.gc();
    System.gc();
    return runtime.totalMemory() - runtime.freeMemory();
  }
}
