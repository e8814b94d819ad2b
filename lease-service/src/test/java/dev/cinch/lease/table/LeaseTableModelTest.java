package dev.cinch.lease.table;

import static dev.cinch.lease.instance.Rig.at;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Witness;
import dev.cinch.lease.rules.Inheritance;
import dev.cinch.lease.table.LeaseBackend.UnendedException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Random requests against the table and against a slow model, which knows every message that
 * holders may have written and states the rules as what must hold of them.
 */
final class LeaseTableModelTest {
  private static final int STEPS = 20_000;
  private static final List<String> NAMES = List.of("a", "b", "c", "d", "e");
  private static final List<Id> LOGS = List.of(new Id(0, 1), new Id(0, 2), new Id(0, 3));

  /** One grant, as its holder knows it. */
  private static final class Held {
    final Operation.Acquire request;
    boolean full;
    boolean ended;
    List<Witness> witnesses;
    long highestWritten = Long.MIN_VALUE;

    Held(Operation.Acquire request, List<Witness> witnesses) {
      this.request = request;
      this.witnesses = witnesses;
      this.full = !request.tentative();
    }
  }

  /** One name, as someone who sees everything knows it. */
  private static final class Truth {
    /** Highest timestamp written under leases that were released. */
    long settled = Long.MIN_VALUE;

    /** Expiries of leases that ended otherwise, with their logs, until fenced. */
    Fence unfenced = Fence.NONE;

    long lowestBoundAllowed = Long.MIN_VALUE;
    @Nullable Held holder;
    long generation;
  }

  private final Map<String, Truth> truths = new HashMap<>();
  private final List<Held> grants = new ArrayList<>();
  private final Set<Id> correlations = new HashSet<>();
  private long now = 1_000_000_000_000L;
  private int granted;
  private int refused;

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void theTableKeepsTheRules(long seed) throws Exception {
    var random = new Random(seed);
    var table =
        new MemoryLeases(
            // Nothing is forgotten here; MemoryRulesTest does that.
            new TableLimits(
                200_000, Long.MAX_VALUE, 1_000_000_000_000L, Long.MAX_VALUE, 1_000_000_000L, 2),
            1,
            Inheritance.origin(Ending.NONE, Fence.NONE),
            Fence.NONE,
            0,
            Optional.empty());
    NAMES.forEach(n -> truths.put(n, new Truth()));
    for (int step = 0; step < STEPS; step++) {
      now += random.nextInt(4) == 0 ? random.nextInt(40) * 1_000_000L : random.nextInt(3);
      int choice = random.nextInt(10);
      try {
        if (choice < 4 || grants.isEmpty()) {
          acquire(table, random);
        } else {
          Held held = grants.get(random.nextInt(grants.size()));
          switch (choice) {
            case 4 -> repeat(table, held);
            case 5, 6 -> renew(table, held, random);
            case 7 -> upgrade(table, held);
            default -> release(table, held, random);
          }
        }
      } catch (LeaseRefusedException e) {
        refused++;
      }
      if (grants.size() > 12) {
        grants.remove(random.nextInt(12));
      }
    }
    assertTrue(granted > STEPS / 20 && refused > STEPS / 20, granted + "/" + refused);
  }

  private boolean holds(Held held) {
    return !held.ended
        && held.witnesses.stream().allMatch(w -> truth(w).holder == held && now < w.expiry());
  }

  private Truth truth(Witness w) {
    return truth(w.name().value());
  }

  private Truth truth(String name) {
    return java.util.Objects.requireNonNull(truths.get(name));
  }

  private void acquire(MemoryLeases table, Random random) throws LeaseRefusedException {
    var names = new TreeSet<LeaseName>();
    for (int i = 1 + random.nextInt(3); i > 0; i--) {
      names.add(new LeaseName(NAMES.get(random.nextInt(NAMES.size()))));
    }
    var request =
        new Operation.Acquire(
            Id.random(random),
            names.descendingSet().stream().toList(),
            "h",
            1 + random.nextInt(100),
            LogSet.of(LOGS.subList(0, 1 + random.nextInt(2))),
            random.nextInt(4) == 0);
    boolean free =
        names.stream()
            .map(n -> truth(n.value()).holder)
            .allMatch(h -> h == null || !h.full || !holds(h));
    List<Witness> witnesses;
    try {
      witnesses = acquired(table, request);
    } catch (LeaseRefusedException e) {
      assertEquals(Reason.HELD, e.reason());
      assertTrue(!free, "refused though free");
      throw e;
    }
    assertTrue(free, "L1: granted though held: " + witnesses);
    granted++;
    var held = new Held(request, witnesses);
    assertEquals(names.stream().toList(), witnesses.stream().map(Witness::name).toList());
    for (Witness w : witnesses) {
      Truth truth = truth(w);
      @Nullable Held before = truth.holder;
      if (before != null && before.full) {
        // It expired without a release.
        Witness last = last(before, w.name());
        truth.unfenced = truth.unfenced.and(new Fence(last.expiry(), last.logs()));
        assertEquals(Ending.BROKEN, w.previousEnding());
      }
      assertTrue(correlations.add(w.correlation()), "correlations differ");
      assertEquals(++truth.generation, w.generation());
      inherits(w, truth);
      truth.holder = held;
    }
    grants.add(held);
  }

  /** L2 and L8: nothing that may have been written lies above the bound without a fence. */
  private static void inherits(Witness w, Truth truth) {
    assertTrue(w.watermark().timestamp() >= truth.settled, () -> "L2: " + w);
    assertEquals(truth.unfenced, w.fence(), "L8");
    assertTrue(w.lowerBound() >= truth.lowestBoundAllowed, () -> "the bound went down: " + w);
    truth.lowestBoundAllowed = w.lowerBound();
  }

  private static Witness last(Held held, LeaseName name) {
    return held.witnesses.stream().filter(w -> w.name().equals(name)).findFirst().orElseThrow();
  }

  private List<Witness> acquired(MemoryLeases table, Operation.Acquire request)
      throws LeaseRefusedException {
    try {
      return table.acquire(request, at(now), Long.MAX_VALUE);
    } catch (UnendedException e) {
      throw new AssertionError("nothing can be resumed from this table", e);
    }
  }

  private void repeat(MemoryLeases table, Held held) throws LeaseRefusedException {
    boolean holds = holds(held);
    List<Witness> again;
    try {
      again = acquired(table, held.request);
    } catch (LeaseRefusedException e) {
      assertTrue(!holds, e.getMessage());
      throw e;
    }
    assertTrue(holds, "repeated though over");
    assertEquals(held.witnesses, again);
  }

  private LeaseReport report(Held held, Random random) {
    OptionalLong watermark = OptionalLong.empty();
    long bound = held.witnesses.stream().mapToLong(Witness::lowerBound).max().orElseThrow();
    long expiry = held.witnesses.stream().mapToLong(Witness::expiry).min().orElseThrow();
    if (held.full && random.nextBoolean() && bound + 1 < expiry) {
      long from = Math.max(bound + 1, now - 5);
      long written = from + random.nextInt(3);
      if (written < expiry) {
        watermark = OptionalLong.of(written);
      }
    }
    return new LeaseReport(watermark, random.nextInt(3) == 0, List.of());
  }

  private void told(Held held, LeaseReport report) {
    held.highestWritten = Math.max(held.highestWritten, report.watermark().orElse(Long.MIN_VALUE));
    if (report.fenced()) {
      held.witnesses.stream()
          .filter(w -> truth(w).holder == held)
          .forEach(w -> truth(w).unfenced = Fence.NONE);
    }
  }

  private void renew(MemoryLeases table, Held held, Random random) throws LeaseRefusedException {
    LeaseReport report = report(held, random);
    boolean holds = holds(held);
    List<Witness> renewed;
    try {
      renewed =
          table.renew(
              new Operation.Renew(
                  held.request.id(),
                  1 + random.nextInt(100),
                  random.nextInt(4) == 0 ? LogSet.of(LOGS.subList(1, 3)) : LogSet.NONE,
                  report),
              at(now),
              Long.MAX_VALUE);
    } catch (LeaseRefusedException e) {
      assertTrue(!holds, e.getMessage());
      throw e;
    }
    assertTrue(holds, "renewed though over");
    told(held, report);
    for (int i = 0; i < renewed.size(); i++) {
      Witness before = held.witnesses.get(i);
      Witness after = renewed.get(i);
      assertEquals(before.lowerBound(), after.lowerBound(), "a lease's bound stays");
      assertTrue(after.expiry() >= before.expiry());
      assertEquals(before.logs().union(after.logs()), after.logs());
      assertEquals(before.correlation(), after.correlation());
      assertEquals(before.generation(), after.generation());
      assertEquals(!held.full, after.tentative());
      assertEquals(truth(after).unfenced, after.fence());
    }
    held.witnesses = renewed;
  }

  private void upgrade(MemoryLeases table, Held held) throws LeaseRefusedException {
    boolean holds = holds(held);
    try {
      held.witnesses =
          table.upgrade(new Operation.Upgrade(held.request.id(), 50), at(now), Long.MAX_VALUE);
    } catch (LeaseRefusedException e) {
      assertTrue(!holds, e.getMessage());
      throw e;
    }
    assertTrue(holds, "upgraded though over");
    held.full = true;
    assertTrue(held.witnesses.stream().noneMatch(Witness::tentative));
  }

  private void release(MemoryLeases table, Held held, Random random) throws LeaseRefusedException {
    LeaseReport report = report(held, random);
    boolean holds = holds(held);
    try {
      table.release(new Operation.Release(held.request.id(), report), at(now));
    } catch (LeaseRefusedException e) {
      assertTrue(!holds, e.getMessage());
      throw e;
    }
    if (held.ended) {
      return;
    }
    assertTrue(holds || !held.full, "released though over");
    List<Witness> own = held.witnesses.stream().filter(w -> truth(w).holder == held).toList();
    told(held, report);
    held.ended = true;
    for (Witness w : own) {
      Truth truth = truth(w);
      truth.settled = Math.max(truth.settled, held.highestWritten);
      truth.holder = null;
    }
  }
}
