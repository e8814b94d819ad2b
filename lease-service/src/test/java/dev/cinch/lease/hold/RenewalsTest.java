package dev.cinch.lease.hold;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Outcome;
import dev.cinch.lease.instance.Rig;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Renewing many leases: which when, with a clock and an executor that the test moves. */
final class RenewalsTest {
  private static final long MS = 1_000_000;
  private static final int PARALLEL = 4;
  private static final HoldSettings SETTINGS = new HoldSettings(Rig.LEASE_MS, 10, 200, 500);

  private final Rig rig = new Rig();
  private final ArrayDeque<Runnable> started = new ArrayDeque<>();
  private final Map<Id, Integer> renewed = new HashMap<>();
  private final List<String> losses = new ArrayList<>();
  private int woken;

  /** What renewals and listeners throw. */
  private @Nullable RuntimeException thrown;

  private final LeaseKeeper.Renewals renewals =
      new LeaseKeeper.Renewals(rig.time, started::add, PARALLEL, () -> woken++);

  @Test
  void atMostSoManyAreUnderWayAndAllGetTheirTurn() throws Exception {
    for (int i = 0; i < 100; i++) {
      renewals.add(hold("n" + i));
    }
    rig.time.advanceMs(4_000);
    int tasks = 0;
    while (renewals.step() <= 0 || !started.isEmpty()) {
      assertTrue(started.size() <= PARALLEL, "" + started.size());
      started.remove().run();
      tasks++;
      assertEquals(tasks, woken, "an end lets the next begin");
    }
    assertEquals(100, renewed.size());
    assertEquals(100, tasks);
  }

  @Test
  void aRenewalWithoutAnAnswerHoldsUpNoOther() throws Exception {
    HeldLease stuck = hold("stuck");
    renewals.add(stuck);
    rig.time.advanceMs(4_000);
    long unused = renewals.step();
    Runnable neverRun = started.remove();
    for (int i = 0; i < 50; i++) {
      renewals.add(hold("n" + i));
    }
    for (int tenths = 0; tenths < 200; tenths++) {
      rig.time.advanceMs(100);
      long settled = settle();
      assertTrue(settled > 0);
    }
    assertEquals(50, renewed.size());
    assertEquals(List.of("stuck"), losses, "told, though its renewal is still under way");
    assertEquals(HeldLease.State.LOST, stuck.state());
    // The late answer changes nothing.
    neverRun.run();
    assertEquals(HeldLease.State.LOST, stuck.state());
    assertEquals(1, losses.size());
  }

  @Test
  void whenAllAreStuckEveryLossIsToldInTime() throws Exception {
    for (int i = 0; i < PARALLEL + 3; i++) {
      renewals.add(hold("n" + i));
    }
    rig.time.advanceMs(4_000);
    long wait = renewals.step();
    assertEquals(PARALLEL, started.size());
    assertEquals(5_700 * MS, wait, "until the first deadline");
    rig.time.advanceNanos(wait);
    wait = renewals.step();
    assertEquals(PARALLEL + 3, losses.size());
  }

  @Test
  void theOneWhoseTimeEndsFirstGoesFirst() throws Exception {
    var leases = new ArrayList<HeldLease>();
    for (int i = 0; i < 12; i++) {
      leases.add(hold("n" + i));
      rig.time.advanceMs(100);
    }
    for (int i : new int[] {7, 2, 11, 0, 5, 9, 1, 3, 4, 6, 8, 10}) {
      renewals.add(leases.get(i));
    }
    rig.time.advanceMs(5_000);
    long unused = renewals.step();
    while (!started.isEmpty()) {
      started.remove().run();
    }
    assertEquals(
        leases.subList(0, PARALLEL).stream().map(HeldLease::id).sorted().toList(),
        renewed.keySet().stream().sorted().toList());
  }

  @Test
  void l5_theyStayHeldAndSpreadOut() throws Exception {
    var leases = new ArrayList<HeldLease>();
    for (int i = 0; i < 40; i++) {
      leases.add(hold("n" + i));
      renewals.add(leases.get(i));
    }
    var times = new TreeSet<Long>();
    for (int i = 0; i < 2_000; i++) {
      renewed.clear();
      rig.time.stepWallMs(i % 2 == 0 ? 50 : -50); // of no consequence
      long wait = Math.max(1, settle());
      if (!renewed.isEmpty()) {
        times.add(rig.time.monotonicNanos());
      }
      rig.time.advanceNanos(Math.min(wait, 50 * MS));
      assertTrue(leases.stream().allMatch(l -> l.remainingNanos() > 5_000 * MS));
    }
    assertTrue(times.size() > 200, "no jitter: " + times.size());
    assertEquals(List.of(), losses);
  }

  @Test
  void aReportThatFailsCostsOnlyItsOwnLease() throws Exception {
    renewals.add(hold("good"));
    Grant grant = rig.acquire("bad");
    renewals.add(
        new HeldLease(
            rig.service,
            rig.time,
            SETTINGS,
            grant,
            HeldLease.AskedAt.now(rig.time),
            () -> {
              throw new IllegalStateException("no report");
            },
            (lease, why) -> losses.add("bad"),
            new Random(1)));
    for (int i = 0; i < 120; i++) {
      rig.time.advanceMs(100);
      long unused = settle();
    }
    assertEquals(List.of("bad"), losses);
    assertEquals(1, renewed.size());
  }

  @Test
  void aRenewalThatFailsIsTriedAgainSoonButNotAtOnce() throws Exception {
    HeldLease lease = hold("a");
    renewals.add(lease);
    rig.time.advanceMs(5_000);
    thrown = new IllegalStateException("made by a test");
    for (int i = 0; i < 3; i++) {
      long unused = renewals.step();
      started.remove().run();
      long wait = renewals.step();
      assertTrue(wait > 0 && wait <= 50 * MS, "" + wait);
      assertEquals(0, started.size());
      rig.time.advanceNanos(wait);
    }
    assertEquals(3, woken);
    thrown = null;
    long unused = settle();
    assertEquals(1, renewed.size());
    assertEquals(HeldLease.State.HELD, lease.state());
  }

  @Test
  void aLossWhoseListenerFailsEndsNoPlanning() throws Exception {
    HeldLease first = hold("a");
    renewals.add(first);
    renewals.add(hold("b"));
    thrown = new IllegalStateException("made by a test");
    rig.time.advanceMs(Rig.LEASE_MS);
    assertEquals(Long.MAX_VALUE, renewals.step());
    assertEquals(2, losses.size());
  }

  @Test
  void closedOnesAreForgotten() throws Exception {
    HeldLease lease = hold("a");
    renewals.add(lease);
    lease.close();
    long unused = settle();
    assertTrue(renewals.isEmpty());
    assertEquals(Long.MAX_VALUE, renewals.step());
  }

  /** Runs all that is to be done now; how long until there is more. */
  private long settle() {
    while (true) {
      long wait = renewals.step();
      if (started.isEmpty()) {
        return wait;
      }
      while (!started.isEmpty()) {
        started.remove().run();
      }
    }
  }

  private HeldLease hold(String name) throws Exception {
    var request = rig.request(name);
    var service =
        new ForwardingLeases(rig.service) {
          @Override
          public Outcome carryOut(Operation operation)
              throws dev.cinch.lease.LeaseUnavailableException {
            if (operation instanceof Operation.Renew renew) {
              fail();
              Outcome outcome = super.carryOut(operation);
              if (outcome instanceof Outcome.Granted) {
                renewed.merge(renew.id(), 1, Integer::sum);
              }
              return outcome;
            }
            return super.carryOut(operation);
          }
        };
    return HeldLease.acquire(
        service,
        rig.time,
        SETTINGS,
        request,
        () -> LeaseReport.NOTHING,
        (lease, why) -> {
          losses.add(name);
          fail();
        },
        new Random(name.hashCode()));
  }

  private void fail() {
    if (thrown != null) {
      throw thrown;
    }
  }
}
