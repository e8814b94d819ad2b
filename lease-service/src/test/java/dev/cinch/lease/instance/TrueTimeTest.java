package dev.cinch.lease.instance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.LeaseHeldException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.hold.DelayedLeases;
import dev.cinch.lease.hold.HeldLease;
import dev.cinch.lease.hold.HoldSettings;
import dev.cinch.lease.register.RegisterBackend;
import dev.cinch.lease.register.StateRegister;
import dev.cinch.lease.table.LeaseBackend;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Rule L18: at no moment of true time two hold a name, though each of the machines has a clock of
 * its own.
 */
final class TrueTimeTest {
  private static final long MS = 1_000_000;
  private static final long APART_MS = 1_000;
  private static final long SINCE = 1_800_000_000_000_000_000L;
  private static final SigningKey KEY = SigningKey.generate();
  private static final LeaseName NAME = new LeaseName("a");

  /** True time. */
  private long now;

  private long ids;

  /** What servers share. */
  private final StateRegister register = new OneRegister();

  /** A machine's clocks. */
  private final class Machine implements TimeSource {
    private final double rate;
    private long offMs;

    /** For so long its monotonic clock stood still. */
    private long sleptMs;

    Machine(long offMs, double rate) {
      this.offMs = offMs;
      this.rate = rate;
    }

    @Override
    public long wallNanos() {
      return SINCE + now + offMs * MS;
    }

    @Override
    public long monotonicNanos() {
      return (long) ((now - sleptMs * MS) * rate);
    }

    @Override
    public void sleepNanos(long nanos) {
      throw new UnsupportedOperationException();
    }
  }

  private static ServiceInstance service(TimeSource time, LeaseBackend.@Nullable Factory on) {
    return service(time, on, null);
  }

  private static ServiceInstance service(
      TimeSource time, LeaseBackend.@Nullable Factory on, @Nullable FakeRegistry registry) {
    var builder = ServiceInstance.builder(new WitnessSigner(KEY), time).fresh(true);
    if (on != null) {
      builder.backend(on);
    }
    if (registry != null) {
      builder.registry(registry).storeInCallers();
    }
    try {
      return builder.start();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private ServiceInstance node(TimeSource time) {
    return service(time, RegisterBackend.on(register, SINCE, 60_000, APART_MS));
  }

  private void pass(long ms) {
    now += ms * MS;
  }

  private Operation.Acquire request() {
    return new Operation.Acquire(
        new Id(7, ++ids), List.of(NAME), "tester", Rig.LEASE_MS, LogSet.NONE, false);
  }

  /** With a rate that is one per cent off at most, and no margin. */
  private static HeldLease held(
      ServiceInstance by, TimeSource time, Grant grant, HeldLease.AskedAt asked) {
    return new HeldLease(
        by,
        time,
        new HoldSettings(Rig.LEASE_MS, 10, 0, 500),
        grant,
        asked,
        () -> LeaseReport.NOTHING,
        (lease, why) -> {},
        new Random(1));
  }

  private HeldLease acquire(ServiceInstance by, TimeSource time) throws Exception {
    var asked = HeldLease.AskedAt.now(time);
    return held(by, time, by.acquire(request()), asked);
  }

  /** Asks for the name until it is granted, and says for how long it was held by then. */
  private long handedOver(HeldLease held, ServiceInstance next) throws Exception {
    for (long ms = 0; ; ms++, pass(1)) {
      try {
        Grant unused = next.acquire(request());
        assertEquals(0, held.remainingNanos(), "two holders at one moment");
        return ms;
      } catch (LeaseRefusedException e) {
        assertTrue(e.retryAfterMs() > 0, e.getMessage());
      }
    }
  }

  @Test
  void l18_aServerWhoseClockIsAheadLetsNobodyInEarly() throws Exception {
    HeldLease held = acquire(node(new Machine(-500, 1)), new Machine(0, 1));
    assertEquals(Rig.LEASE_MS, handedOver(held, node(new Machine(500, 1))));
  }

  @Test
  void l18_aServerWhoseClockIsBehindWaitsForBothBounds() throws Exception {
    HeldLease held = acquire(node(new Machine(500, 1)), new Machine(0, 1));
    assertEquals(Rig.LEASE_MS + 2 * APART_MS, handedOver(held, node(new Machine(-500, 1))));
  }

  @Test
  void l18_aHolderWhoseClockIsSlowHoldsNoLonger() throws Exception {
    var own = new Machine(0, 0.99);
    HeldLease held = acquire(node(new Machine(-500, 1)), own);
    own.offMs = -5_000; // by which it has even more time
    assertEquals(Rig.LEASE_MS, handedOver(held, node(new Machine(500, 1))));
  }

  @Test
  void l18_aHolderCountsFromSendingARenewal() throws Exception {
    var own = new Machine(0, 1);
    ServiceInstance node = node(new Machine(-500, 1));
    var slow = new Late(node, own);
    HeldLease held = slow.held;
    pass(1_000);
    Grant unused = held.renew(LogSet.NONE); // whose answer is on its way for two seconds
    assertEquals(Rig.LEASE_MS - 2_000, handedOver(held, node(new Machine(500, 1))));
  }

  @Test
  void l18_aReleasedLeaseIsFreeAtOnceByAnyClock() throws Exception {
    HeldLease held = acquire(node(new Machine(500, 1)), new Machine(0, 1));
    held.release(LeaseReport.NOTHING);
    assertEquals(0, handedOver(held, node(new Machine(-500, 1))));
  }

  /** Nobody else has it before, so it may as well go on. */
  @Test
  void l18_aHolderRenewsWhereItExpiredByAClockThatIsAhead() throws Exception {
    var machine = new Machine(-500, 1);
    ServiceInstance node = node(machine);
    Grant grant = node.acquire(request());
    pass(Rig.LEASE_MS - 100);
    machine.offMs = 500;
    Grant renewed = node.renew(grant.id(), Rig.LEASE_MS, LogSet.NONE, LeaseReport.NOTHING);
    assertTrue(renewed.expiry() > grant.expiry());
    assertThrows(LeaseHeldException.class, () -> node.acquire(request()));
  }

  @Test
  void l18_aServerWhoseClockIsSetLetsNobodyInEarly() throws Exception {
    for (long stepMs : new long[] {900, 30_000, 86_400_000, -900}) {
      var machine = new Machine(0, 1);
      ServiceInstance memory = service(machine, null);
      HeldLease held = acquire(memory, new Machine(0, 1));
      pass(1);
      machine.offMs += stepMs;
      pass(stepMs < 0 ? -stepMs : 0); // nothing is granted before it has caught up
      long waited = handedOver(held, memory);
      assertTrue(waited >= Rig.LEASE_MS - 1_000, "after " + waited + " ms");
    }
  }

  /** The ceiling lies as close above the lease as it may. */
  @Test
  void l18_aLaterInstanceWaitsForTheLastCeilingByAnyClock() throws Exception {
    var store = new FakeRegistry.Store();
    var files = new FakeRegistry(store);
    ServiceInstance first = service(new Machine(-500, 1), null, files);
    HeldLease held = acquire(first, new Machine(0, 1));
    files.broken = true; // so that no other ceiling is published
    pass(4_900);
    first.maintain(); // which can't, and shows that it was not paused
    pass(4_900);
    Grant unused = held.renew(LogSet.NONE);
    var later = new FakeRegistry(store);
    later.apartNanos = APART_MS * MS;
    long waited = handedOver(held, service(new Machine(500, 1), null, later));
    assertEquals(Rig.LEASE_MS + 200, waited);
  }

  @Test
  void l18_aServerOfSeveralWhoseClockWasSetGrantsNothingBeforeItHasLooked() throws Exception {
    var machine = new Machine(200, 1);
    var files = new FakeRegistry(new FakeRegistry.Store(), 7);
    var on = RegisterBackend.on(register, SINCE, 60_000, APART_MS);
    ServiceInstance node = service(machine, on, files);
    Grant grant = node.acquire(request());
    node.release(grant.id(), LeaseReport.NOTHING);
    files.broken = true;
    machine.offMs = -200;
    Rig.refused(Reason.NOT_YET, () -> node.acquire(request()));
    files.broken = false;
    pass(1_000);
    Rig.refused(Reason.NOT_YET, () -> node.acquire(request())); // it was set back
    pass(400);
    assertEquals(SINCE + now + (Rig.LEASE_MS - 200) * MS, node.acquire(request()).expiry());
  }

  @Test
  void l18_aServerOfSeveralWhoseClockIsOffGrantsNothingAndSaysSo() throws Exception {
    var files = new FakeRegistry(new FakeRegistry.Store(), 7);
    var on = RegisterBackend.on(register, SINCE, 60_000, APART_MS);
    ServiceInstance node = service(new Machine(0, 1), on, files);
    Grant grant = node.acquire(request());
    node.release(grant.id(), LeaseReport.NOTHING);
    files.clock = new ManualTime(); // which shows another year
    pass(61_000);
    for (int i = 0; i < 2; i++) {
      LeaseRefusedException e = Rig.refused(Reason.NOT_YET, () -> node.acquire(request()));
      assertTrue(String.valueOf(e.getMessage()).contains("the clock is off"), e.getMessage());
      pass(100);
    }
    assertTrue(node.obstacle().isPresent());
  }

  @Test
  void l18_aHolderThatSleptHoldsNothingAnyMore() throws Exception {
    var laptop = new Machine(0, 1);
    HeldLease held = acquire(service(new Machine(0, 1), null), laptop);
    pass(Rig.LEASE_MS);
    laptop.sleptMs = Rig.LEASE_MS;
    assertEquals(0, held.remainingNanos());
    assertEquals(Long.MAX_VALUE, held.doWork(laptop.monotonicNanos()));
    assertEquals(HeldLease.State.LOST, held.state());
  }

  /** A service whose answers to renewals take two seconds. */
  private final class Late {
    final HeldLease held;

    Late(ServiceInstance by, TimeSource time)
        throws LeaseRefusedException, LeaseUnavailableException {
      var asked = HeldLease.AskedAt.now(time);
      Grant grant = by.acquire(request());
      held =
          new HeldLease(
              new DelayedLeases(by, () -> pass(2_000)),
              time,
              new HoldSettings(Rig.LEASE_MS, 10, 0, 500),
              grant,
              asked,
              () -> LeaseReport.NOTHING,
              (lease, why) -> {},
              new Random(1));
    }
  }

  /** In this process's memory. */
  private static final class OneRegister implements StateRegister {
    private final TreeMap<String, byte[]> values = new TreeMap<>();

    @Override
    public CompletableFuture<Boolean> change(LeaseName name, Change change) {
      try {
        Optional<byte[]> next = change.of(found(name));
        next.ifPresent(bytes -> values.put(name.value(), bytes));
        return CompletableFuture.completedFuture(next.isPresent());
      } catch (LeaseRefusedException e) {
        return CompletableFuture.failedFuture(e);
      }
    }

    private Found found(LeaseName name) {
      return new Found(Optional.ofNullable(values.get(name.value())), true, 0);
    }

    @Override
    public CompletableFuture<Found> look(LeaseName name) {
      return CompletableFuture.completedFuture(found(name));
    }

    @Override
    public CompletableFuture<NavigableMap<String, byte[]>> list(
        String prefix, String after, int limit) {
      return CompletableFuture.completedFuture(values);
    }

    @Override
    public void listen(BiConsumer<String, byte[]> listener) {}

    @Override
    public int longestValue() {
      return 1_000;
    }
  }
}
