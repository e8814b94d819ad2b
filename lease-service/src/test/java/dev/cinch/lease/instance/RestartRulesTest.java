package dev.cinch.lease.instance;

import static dev.cinch.lease.instance.Rig.LEASE_MS;
import static dev.cinch.lease.instance.Rig.MS;
import static dev.cinch.lease.instance.Rig.only;
import static dev.cinch.lease.instance.Rig.refused;
import static dev.cinch.lease.time.ManualTime.START;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseRefusedException.Reason;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Operation;
import dev.cinch.lease.Witness;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import org.junit.jupiter.api.Test;

/** Rule L3: what a later instance waits for and fences, in a store with leases of eight hours. */
final class RestartRulesTest {
  private static final long LONGEST_MS = 8 * 3_600_000;
  private static final long AHEAD_MS = ServiceInstance.DEFAULT_CEILING_AHEAD_MS;

  private final ManualTime time = new ManualTime();
  private final FakeRegistry.Store store = new FakeRegistry.Store();
  private final FakeRegistry registry = new FakeRegistry(store);

  @Test
  void l3_aLaterInstanceFencesTheHighestEarlierCeilingForAllLogs() throws Exception {
    var first = new Rig(time, registry);
    var unused = first.acquire("a");
    long ceiling = ceiling(1);
    var second = new Rig(time, new FakeRegistry(store));
    time.advanceMs(60_000);
    Witness w = only(second.acquire("never-seen"));
    assertEquals(2, w.instance());
    assertEquals(Ending.UNKNOWN, w.previousEnding());
    assertEquals(new Fence(ceiling, LogSet.ALL), w.fence());
    var third = new Rig(time, new FakeRegistry(store));
    time.advanceMs(60_000);
    assertEquals(ceiling(2), only(third.acquire("a")).fence().upTo());
  }

  @Test
  void l3_aLaterInstanceWaitsForTheLastEarlierCeilingAndSaysForHowLong() throws Exception {
    var first = served(LONGEST_MS);
    var unused = first.acquire(new Rig().request("a")); // for ten seconds
    long ceiling = ceiling(1);
    assertEquals(START + 2 * LEASE_MS * MS, ceiling);
    ServiceInstance second = served(LONGEST_MS);
    LeaseRefusedException e = refused(Reason.NOT_YET, () -> second.acquire(new Rig().request("a")));
    assertEquals(
        "the service was started anew and grants again in 20 s, at 00:00:20 UTC", e.getMessage());
    assertEquals(2 * LEASE_MS, e.retryAfterMs());
    assertEquals(2 * LEASE_MS, second.info().quarantineLeftMs());
    time.advanceMs(2 * LEASE_MS - 1);
    refused(Reason.NOT_YET, () -> second.acquire(new Rig().request("a")));
    time.advanceMs(1);
    Witness w = second.acquire(new Rig().request("a")).witnesses().get(0).witness();
    assertEquals(new Fence(ceiling, LogSet.ALL), w.fence());
  }

  /** The longest lease may be another one by now: only the ceiling says what was signed. */
  @Test
  void l3_theWaitIsNoShorterThanTheCeilingWhateverTheLongestLeaseIsNow() throws Exception {
    ServiceInstance first = served(LONGEST_MS);
    var rig = new Rig();
    var r = rig.request("a");
    var unused =
        first.acquire(
            new Operation.Acquire(r.id(), r.names(), r.holder(), LONGEST_MS, r.logs(), false));
    ServiceInstance second = served(60_000);
    time.advanceMs(LONGEST_MS);
    refused(Reason.NOT_YET, () -> second.acquire(rig.request("a")));
    time.advanceMs(AHEAD_MS);
    assertEquals(1, second.acquire(rig.request("a")).witnesses().size());
  }

  /** As versions left them whose clock was far ahead for a moment. */
  @Test
  void l3_aCeilingAtTheEndOfTimeIsWaitedForInWords() {
    store.ceilings.put(0L, Long.MAX_VALUE);
    var second = new Rig(time, new FakeRegistry(store));
    LeaseRefusedException e = refused(Reason.NOT_YET, () -> second.acquire("a"));
    assertTrue(
        String.valueOf(e.getMessage()).endsWith("days, at 2262-04-11 23:47:17 UTC"),
        e.getMessage());
    assertTrue(e.retryAfterMs() > 10 * 365 * 86_400_000L);
  }

  @Test
  void l3_whereNothingWasGrantedALaterInstanceGrantsAtOnce() throws Exception {
    ServiceInstance first = served(LONGEST_MS);
    for (int i = 0; i < 100; i++) {
      time.advanceMs(1_000);
      first.maintain();
    }
    var unknown = new Id(0, 99);
    refused(
        Reason.NOT_HELD, () -> first.renew(unknown, LEASE_MS, LogSet.NONE, LeaseReport.NOTHING));
    refused(Reason.NOT_HELD, () -> first.upgrade(unknown, LEASE_MS));
    assertEquals(0, registry.count("publish"));
    var second = new Rig(time, new FakeRegistry(store));
    assertEquals(Fence.NONE, only(second.acquire("a")).fence());
  }

  @Test
  void l3_ceilingsStandStillWhereNothingIsGrantedAnyMore() throws Exception {
    ServiceInstance first = served(LONGEST_MS);
    var rig = new Rig();
    var unused = first.acquire(rig.request("a"));
    for (int i = 0; i < 100; i++) {
      var refused = rig.request("a");
      var longest =
          new Operation.Acquire(
              refused.id(), refused.names(), "waits", LONGEST_MS, refused.logs(), false);
      refused(Reason.HELD, () -> first.acquire(longest));
      time.advanceMs(99);
      first.maintain();
    }
    assertEquals(START + 2 * LEASE_MS * MS, ceiling(1));
    time.advanceMs(1_000_000);
    first.maintain();
    assertEquals(START + 2 * LEASE_MS * MS, ceiling(1));
    ServiceInstance second = served(LONGEST_MS);
    assertEquals(1, second.acquire(rig.request("a")).witnesses().size());
  }

  private ServiceInstance served(long longestMs) throws IOException {
    return ServiceInstance.builder(new WitnessSigner(Rig.KEY), time)
        .storeInCallers()
        .registry(store.numbers == 0 ? registry : new FakeRegistry(store))
        .longestLeaseMs(longestMs)
        .start();
  }

  private long ceiling(long instance) {
    return store.ceilings.getOrDefault(instance, Long.MIN_VALUE);
  }
}
