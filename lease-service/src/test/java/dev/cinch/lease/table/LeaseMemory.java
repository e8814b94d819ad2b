package dev.cinch.lease.table;

import static dev.cinch.lease.instance.Rig.at;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.rules.Inheritance;
import dev.cinch.lease.table.LeaseBackend.UnendedException;
import java.lang.management.ManagementFactory;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;

/**
 * How much heap held leases take (section 11; docs/decisions/lease-memory.md): fills a table with
 * leases of distinct names of 24 characters, holders and ids, and says how many bytes each takes
 * after a collection, how many were granted a second, and whether all still answers. Then renews
 * them all. Not a test; {@code run.sh memory} runs it, and says how long Java stopped meanwhile.
 *
 * <p>With {@code history} each name was held and released before, and its holder has stated a
 * watermark.
 */
public final class LeaseMemory {
  private static final long START = 1_795_240_579_787_123_456L;
  private static final long LEASE_MS = 60_000;
  private static final long RENEWED_AFTER = 20_000_000_000L;
  private static final long SEED = 1;

  /** Splittable ones are not thread-safe, and one thread is all there is. */
  private final SplittableRandom random = new SplittableRandom(SEED);

  private final MemoryLeases table;
  private final int leases;

  private LeaseMemory(int leases, TableLimits limits) {
    this.leases = leases;
    this.table =
        new MemoryLeases(
            limits,
            1,
            Inheritance.origin(Ending.NONE, Fence.NONE),
            Fence.NONE,
            0,
            Optional.empty());
  }

  public static void main(String[] args) throws Exception {
    int leases = args.length > 0 ? Integer.parseInt(args[0]) : 1_000_000;
    boolean history = args.length > 1 && args[1].equals("history");
    long heap = Runtime.getRuntime().maxMemory();
    TableLimits limits = TableLimits.forHeap(heap);
    System.out.printf(
        "heap %,d bytes, which is for %,d names; %,d leases%s%n",
        heap,
        limits.maxEntries(),
        leases,
        history ? ", each the second of its name and with a watermark" : "");
    new LeaseMemory(leases, limits).run(history);
  }

  private void run(boolean history) throws Exception {
    long before = used();
    long started = System.nanoTime();
    long text = 0;
    for (int i = 0; i < leases; i++) {
      text += name(i).value().length() + holder(i).length();
      if (history) {
        Id first = acquire(i);
        table.release(new Operation.Release(first, wrote(i)), at(START + i));
      }
      Id id = acquire(i);
      if (history) {
        var unused =
            table.renew(
                new Operation.Renew(id, LEASE_MS, LogSet.NONE, wrote(i + 1)),
                at(START + i + 1),
                Long.MAX_VALUE);
      }
    }
    double seconds = (System.nanoTime() - started) / 1e9;
    long bytes = used() - before;
    System.out.printf(
        "%,d bytes, %.1f a lease, %.1f of them beyond its name and holder; %,.0f %s a second with"
            + " one thread%n",
        bytes,
        (double) bytes / leases,
        (double) (bytes - text) / leases,
        leases / seconds,
        history ? "rounds" : "grants");
    renewAll(history);
    System.out.printf("%.1f bytes a lease after that%n", (double) (used() - before) / leases);
    answers();
  }

  /** Each by itself, as its holder would; the ids are drawn again instead of being kept. */
  private void renewAll(boolean history) throws Exception {
    var ids = new SplittableRandom(SEED);
    long began = ManagementFactory.getRuntimeMXBean().getUptime();
    for (int i = 0; i < leases; i++) {
      if (history) {
        ids.nextLong();
        ids.nextLong();
      }
      var id = new Id(ids.nextLong(), ids.nextLong());
      var unused =
          table.renew(
              new Operation.Renew(id, LEASE_MS, LogSet.NONE, LeaseReport.NOTHING),
              at(START + leases + RENEWED_AFTER + i),
              Long.MAX_VALUE);
    }
    long ended = ManagementFactory.getRuntimeMXBean().getUptime();
    System.out.printf(
        "renewed all from %.3f to %.3f s of uptime: %,.0f a second with one thread%n",
        began / 1e3, ended / 1e3, leases / ((ended - began) / 1e3));
  }

  private Id acquire(int i) throws Exception {
    var id = new Id(random.nextLong(), random.nextLong());
    var unused =
        table.acquire(
            new Operation.Acquire(id, List.of(name(i)), holder(i), LEASE_MS, LogSet.ALL, false),
            at(START + i),
            Long.MAX_VALUE);
    return id;
  }

  private static LeaseReport wrote(int i) {
    return new LeaseReport(OptionalLong.of(START + i), false, List.of());
  }

  /** Names are held by their holders, nobody else gets one, and the list has pages. */
  private void answers() {
    long now = START + 2L * leases + RENEWED_AFTER;
    for (int i = 0; i < leases; i += 97) {
      String holder = table.show(name(i), at(now)).orElseThrow().witness().holder();
      check(holder.equals(holder(i)), "another holder: " + holder);
    }
    for (int i = 0; i < leases; i += Math.max(1, leases / 1_000)) {
      check(!granted(i, now), "granted twice: " + name(i));
    }
    Optional<LeaseName> last = Optional.empty();
    for (int page = 1; page * 1_000 <= leases && page <= 10; page++) {
      var listed = table.list("", last, 1_000, at(now));
      check(listed.size() == 1_000, "a page of " + listed.size());
      last = Optional.of(listed.get(999).witness().name());
    }
    System.out.println(
        "every 97th name is shown as held, a thousand are refused to others, pages follow each"
            + " other");
  }

  private boolean granted(int i, long now) {
    var request =
        new Operation.Acquire(
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
    String hex = HexFormat.of().toHexDigits(i * 0x9E3779B9);
    return new LeaseName("tenant/" + hex + "/" + String.valueOf(100_000_000 + i).substring(1));
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
