package dev.cinch.lease.instance;

import static dev.cinch.lease.instance.Rig.at;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.rules.Inheritance;
import dev.cinch.lease.table.MemoryLeases;
import dev.cinch.lease.table.TableLimits;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Threads that take the same names at once: rule L1, and no deadlock. */
final class ConcurrencyTest {
  private static final int NAMES = 20;

  @Test
  @Timeout(600)
  void l1_threadsNeverHoldTheSameNameAtOnceAndNoneWaitsForEver() throws Exception {
    var table =
        new MemoryLeases(
            new TableLimits(4_000, Long.MAX_VALUE, 1_000, 1_000, 1_000, 0),
            1,
            Inheritance.origin(Ending.NONE, Fence.NONE),
            Fence.NONE,
            0,
            Optional.empty());
    var holders = new AtomicIntegerArray(NAMES);
    var tasks = new ArrayList<Callable<Integer>>();
    for (int t = 0; t < 4; t++) {
      long seed = t;
      tasks.add(() -> run(table, holders, new Random(seed)));
    }
    var pool = Executors.newFixedThreadPool(4);
    try {
      int granted = 0;
      for (Future<Integer> done : pool.invokeAll(tasks)) {
        granted += done.get();
      }
      assertTrue(granted > 1_000, granted + " granted");
    } finally {
      pool.shutdown();
      assertTrue(pool.awaitTermination(10, TimeUnit.MINUTES));
    }
  }

  private static int run(MemoryLeases table, AtomicIntegerArray holders, Random random)
      throws Exception {
    int granted = 0;
    for (int i = 0; i < 10_000; i++) {
      var numbers = new TreeSet<Integer>();
      for (int n = 1 + random.nextInt(4); n > 0; n--) {
        numbers.add(random.nextInt(NAMES));
      }
      List<LeaseName> names =
          numbers.descendingSet().stream().map(n -> new LeaseName("n" + n)).toList();
      var request = new Operation.Acquire(Id.random(random), names, "h", 1_000, LogSet.ALL, false);
      try {
        assertEquals(names.size(), table.acquire(request, at(0), Long.MAX_VALUE).size());
      } catch (LeaseRefusedException e) {
        assertEquals(LeaseRefusedException.Reason.HELD, e.reason());
        continue;
      }
      granted++;
      numbers.forEach(n -> assertEquals(1, holders.incrementAndGet(n)));
      numbers.forEach(n -> assertEquals(0, holders.decrementAndGet(n)));
      table.release(new Operation.Release(request.id(), LeaseReport.NOTHING), at(0));
    }
    return granted;
  }
}
