package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.registry.StoreShards;
import dev.cinch.bag.store.CountingKeys;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.bag.write.PendingReceipt;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseHost;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseRefusedException;
import dev.cinch.lease.LeaseUnavailableException;
import dev.cinch.lease.Shard;
import dev.cinch.lease.ShardMap;
import dev.cinch.lease.Witness;
import dev.cinch.lease.hold.LeaseKeeper;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.time.ForwardingTime;
import dev.cinch.lease.time.TimeSource;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/**
 * Sections 6 and 7 where leases meet storage: F1, F2, F4, and what L2, L3, L8 and L9 ask of a
 * session.
 */
class SessionRulesTest extends SessionRig {
  private TreeMap<Long, String> settled(Log log) throws IOException {
    var all = new TreeMap<Long, String>();
    log.reader()
        .settled(
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            true,
            m -> all.put(m.timestamp(), new String(m.payload(), StandardCharsets.UTF_8)) == null,
            (m, f, why) -> {});
    return all;
  }

  @Test
  void f1_messagesOfTheNextHolderAreLaterEvenIfItsClockIsBehind() throws Exception {
    Store a = store("a");
    Store b = store(rig.disk.view(Rig.ALICE), rig.time.skewed(-400 * MS), "b");
    long last;
    try (Session session = Session.open(a, service, "a")) {
      session.acquire(NAMES, LEASE);
      last = committed(session.append(a.log(Rig.JOBS), bytes("a"))).timestamp();
    }
    try (Session session = Session.open(b, service, "b")) {
      Grant grant = session.acquire(NAMES, LEASE);
      assertEquals(Ending.RELEASED, grant.witnesses().get(0).witness().previousEnding());
      assertTrue(session.fence(NAME).isNone());
      long first = committed(session.append(b.log(Rig.JOBS), bytes("b"))).timestamp();
      assertTrue(first > last, first + " after " + last);
    }
  }

  @Test
  void l2_whatWasRefusedForAWrongClockIsNotInTheWatermark() throws Exception {
    for (boolean wroteBefore : new boolean[] {true, false}) {
      begin();
      var skew = new AtomicLong();
      Store a = store(rig.disk.view(Rig.ALICE), rig.time.skewed(skew), "a");
      Log jobs = a.log(Rig.JOBS);
      long last = Long.MIN_VALUE;
      try (Session session = Session.open(a, service, "a")) {
        session.acquire(NAMES, LEASE);
        if (wroteBefore) {
          last = committed(session.append(jobs, bytes("before"))).timestamp();
        }
        skew.set(5_000 * MS);
        assertInstanceOf(Receipt.Rejected.class, session.append(jobs, bytes("ahead")));
        skew.set(0);
        assertTrue(session.end());
      }
      try (Session session = Session.open(store("b"), service, "b")) {
        Witness w = session.acquire(NAMES, LEASE).witnesses().get(0).witness();
        assertEquals(Ending.RELEASED, w.previousEnding());
        assertEquals(last, w.watermark().timestamp());
      }
    }
  }

  @Test
  void aFileServerThatHangsForLongerThanALeaseCostsNoMessageIfTheLeaseIsRenewed() throws Exception {
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    Store a = store(fs, rig.time, "a");
    Log jobs = a.log(Rig.JOBS);
    try (LeaseKeeper keeper = LeaseKeeper.stepped(rig.time);
        Session session = Session.open(new Writers(a, Durability.SYNC), service, "a", keeper)) {
      session.acquire(NAMES, LEASE);
      committed(session.append(jobs, bytes("before")));
      rig.time.advanceMs(4_000);
      assertTrue(keeper.doWork() > 0); // renewed, so that the next message asks the filesystem
      var hung = new AtomicInteger();
      fs.beforeFirst(
          op -> op.kind() == FaultyFs.Kind.MKDIR,
          () -> {
            for (int i = 0; i < 4; i++) {
              rig.time.advanceMs(4_000);
              assertTrue(keeper.doWork() > 0);
              hung.incrementAndGet();
            }
          });
      committed(session.append(jobs, bytes("after")));
      assertEquals(4, hung.get());
    }
  }

  @Test
  void aFileServerThatIsSlowerThanTheRenewalsHoldsNoMessageUp() throws Exception {
    committed(appendBehind(4_000));
  }

  @Test
  void aFileServerThatIsSlowerThanTheLeasesLastIsTold() throws Exception {
    var e = assertThrows(MessageRefusedException.class, () -> appendBehind(11_000));
    assertTrue(e.toString().contains("takes longer to answer than the leases last"), e::toString);
  }

  /**
   * Appends while each look at the filesystem's clock takes so long, and renewals go on meanwhile.
   */
  private Receipt appendBehind(long slownessMs) throws Exception {
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    Store a = store(fs, rig.time, "a");
    Log jobs = a.log(Rig.JOBS);
    try (LeaseKeeper keeper = LeaseKeeper.stepped(rig.time);
        Session session = Session.open(new Writers(a, Durability.SYNC), service, "a", keeper)) {
      session.acquire(NAMES, LEASE);
      committed(session.append(jobs, bytes("before")));
      rig.time.advanceMs(4_000);
      assertTrue(keeper.doWork() > 0); // renewed, so that the next message asks the filesystem
      var slow = new AtomicInteger();
      fs.before(
          op -> {
            if (op.kind() == FaultyFs.Kind.MKDIR) {
              assertTrue(slow.incrementAndGet() < 100, "it asks for ever");
              for (long passed = 0; passed < slownessMs; passed += 1_000) {
                rig.time.advanceMs(1_000);
                assertTrue(keeper.doWork() > 0);
              }
            }
          });
      Receipt receipt = session.append(jobs, bytes("after"));
      fs.before(op -> {});
      return receipt;
    }
  }

  /** As a refusal, which whoever waits for leases may try again. */
  @Test
  void aLeaseThatIsLostWhileItsFenceIsWaitedForIsRefused() throws Exception {
    Grant unused = acquire("lost");
    rig.time.advanceNanos(LEASE.toNanos() + 1);
    TimeSource paused =
        new ForwardingTime(rig.time) {
          @Override
          public void sleepNanos(long nanos) {
            rig.time.advanceNanos(LEASE.toNanos());
          }
        };
    Store b = store(rig.disk.view(Rig.ALICE), paused, "b");
    try (LeaseKeeper keeper = LeaseKeeper.stepped(rig.time);
        Session session = Session.open(new Writers(b, Durability.SYNC), service, "b", keeper)) {
      var e = assertThrows(LeaseRefusedException.class, () -> session.acquire(NAMES, LEASE));
      assertEquals(LeaseRefusedException.Reason.NOT_HELD, e.reason());
      assertTrue(e.toString().contains("lost while its fence was waited for"), e::toString);
    }
  }

  @Test
  void aFenceWaitsWhereTheStorageIsFullAndGoesOn() throws Exception {
    Grant unused = acquire("lost");
    rig.time.advanceNanos(LEASE.toNanos() + 1);
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    var tries = new AtomicInteger();
    fs.before(
        op -> {
          if (op.kind() == FaultyFs.Kind.CREATE
              && op.path().toString().contains("/horizon/")
              && tries.incrementAndGet() <= 3) {
            throw new FileSystemException(op.path().toString(), null, "No space left on device");
          }
        });
    Store b = store(fs, rig.time, "b");
    try (Session session = Session.open(b, service, "b")) {
      Grant grant = session.acquire(NAMES, LEASE);
      assertTrue(tries.get() > 3);
      long fence = grant.witnesses().get(0).witness().fence().upTo();
      assertTrue(b.log(Rig.JOBS).reader().settledThrough() > fence);
      Receipt.Committed next = committed(session.append(b.log(Rig.JOBS), bytes("m")));
      assertTrue(next.timestamp() > fence);
    }
  }

  @Test
  void f1_afterALossNothingOfTheEarlierHolderAppearsAnyMore() throws Exception {
    // A is paused at each file operation of an append in turn, for longer than its lease; meanwhile
    // B takes the lease over.
    assertTrue(pauseAtEach(false) >= 12, "operations of an append that enters a bucket");
    assertTrue(pauseAtEach(true) >= 4, "operations of a later append");
  }

  private int pauseAtEach(boolean sameBucket) throws Exception {
    int operations = 0;
    while (takeOverAt(operations + 1, sameBucket)) {
      operations++;
      begin();
    }
    begin();
    return operations;
  }

  /** False if the append has fewer operations than that. */
  private boolean takeOverAt(int pauseAt, boolean sameBucket) throws Exception {
    var countdown = new AtomicInteger(Integer.MAX_VALUE);
    var seenByB = new ArrayList<TreeMap<Long, String>>();
    var firstOfB = new ArrayList<Long>();
    FaultyFs.Before pause =
        op -> {
          if (countdown.decrementAndGet() == 0) {
            rig.time.advanceNanos(LEASE.toNanos() + 1);
            takeOver(seenByB, firstOfB);
          }
        };
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    fs.before(pause);
    Store a = store(fs, rig.time, "a");
    Log log = a.log(Rig.JOBS);
    Grant grant = acquire("a");
    Witness w = grant.witnesses().get(0).witness();
    var stamp =
        new LeaseStamp(grant.witnesses(), w.lowerBound(), w.expiry() - LEASE.toNanos() / 20);
    LogWriter writer = log.writer(Durability.SYNC);
    committed(writer.append(stamp, bytes("a before")));
    if (!sameBucket) {
      rig.time.advanceMs(1100);
    }
    countdown.set(pauseAt);
    Receipt late = writer.append(stamp, bytes("a late"));
    if (seenByB.isEmpty()) {
      committed(late);
      return false;
    }
    rig.settle(store("reader").log(Rig.JOBS));
    TreeMap<Long, String> all = settled(store("reader").log(Rig.JOBS));
    assertEquals(
        late instanceof Receipt.Committed, all.containsValue("a late"), "operation " + pauseAt);
    for (var m : all.headMap(Long.MAX_VALUE).entrySet()) {
      if (m.getValue().startsWith("a ")) {
        assertTrue(m.getKey() < firstOfB.get(0), "A before B, operation " + pauseAt);
        assertTrue(
            seenByB.get(0).containsKey(m.getKey()),
            m.getValue() + " came into existence after B's first read, operation " + pauseAt);
      }
    }
    return true;
  }

  private void takeOver(List<TreeMap<Long, String>> seen, List<Long> first) throws Exception {
    Store b = store("b");
    try (Session session = Session.open(b, service, "b")) {
      session.acquire(NAMES, LEASE);
      Log log = b.log(Rig.JOBS);
      seen.add(settled(log));
      first.add(committed(session.append(log, bytes("b"))).timestamp());
    }
  }

  @Test
  void f2_aHolderWhoseLeaseRanOutIsRefusedByItsOwnMonotonicClock() throws Exception {
    Store a = store("a");
    var down = new Cut(service);
    try (Session session = Session.open(a, down, "a")) {
      session.acquire(NAMES, LEASE);
      down.cut = true; // its renewals get no answer any more
      rig.time.advanceNanos(LEASE.toNanos());
      assertThrows(
          MessageRefusedException.class, () -> session.append(a.log(Rig.JOBS), bytes("late")));
    }
  }

  @Test
  void f4_onlyThoseWhoWantTheUnreleasedNameWait() throws Exception {
    acquire("a"); // never released
    rig.time.advanceNanos(LEASE.toNanos() + 1);
    Store c = store("c");
    try (Session session = Session.open(c, service, "c")) {
      long before = rig.time.monotonicNanos();
      session.acquire(List.of(new LeaseName("another")), LEASE);
      assertTrue(rig.time.monotonicNanos() - before < 100 * MS, "no wait for another name");
      committed(session.append(c.log(Rig.JOBS), bytes("c")));
    }
    try (Session session = Session.open(c, service, "c")) {
      long before = rig.time.monotonicNanos();
      session.acquire(NAMES, LEASE);
      assertTrue(rig.time.monotonicNanos() - before > 1000 * MS, "the fence has to be waited for");
      assertFalse(session.fence(NAME).isNone());
    }
  }

  @Test
  void f1_aSessionFencesBeforeItsFirstWrite() throws Exception {
    Grant lost = acquire("a");
    rig.time.advanceNanos(LEASE.toNanos() + 1);
    Store b = store("b");
    try (Session session = Session.open(b, service, "b")) {
      session.acquire(NAMES, LEASE);
      Fence fence = session.fence(NAME);
      assertTrue(fence.upTo() >= lost.expiry());
      long settled = b.log(Rig.JOBS).horizon().chain().freshTip().orElseThrow().record().to();
      assertTrue(settled >= fence.upTo(), "the horizon has passed the fence");
    }
    try (Session session = Session.open(b, service, "c")) {
      session.acquire(NAMES, LEASE);
      assertTrue(session.fence(NAME).isNone(), "it was reported as done (rule L8)");
    }
  }

  @Test
  void l2_releaseStatesAWatermarkThatCoversAllThatWasWritten() throws Exception {
    Store a = store("a");
    long last = 0;
    try (Session session = Session.open(a, service, "a", Durability.CLOSE)) {
      session.acquire(NAMES, LEASE);
      for (int i = 0; i < 100; i++) {
        byte[] m = bytes("m" + i);
        last = session.submit(a.log(Rig.JOBS), m, 0, m.length).timestamp();
      }
    }
    Witness next = acquire("b").witnesses().get(0).witness();
    assertEquals(last, next.watermark().timestamp());
  }

  @Test
  void whatEarlierHoldersWroteCanBeSettled() throws Exception {
    Store a = store("a");
    long last;
    try (Session session = Session.open(a, service, "a")) {
      session.acquire(NAMES, LEASE);
      assertEquals(Long.MIN_VALUE, session.settleEarlier(a.log(Rig.JOBS)), "the first holder");
      last = committed(session.append(a.log(Rig.JOBS), bytes("m"))).timestamp();
    }
    Store b = store("b");
    try (Session session = Session.open(b, service, "b")) {
      session.acquire(NAMES, LEASE);
      assertTrue(b.log(Rig.JOBS).reader().settledThrough() <= last);
      long end = session.settleEarlier(b.log(Rig.JOBS));
      assertTrue(end > last);
      assertEquals(end, b.log(Rig.JOBS).reader().settledThrough());
    }
  }

  /** A message under a lease; when it was written. */
  private long written() throws Exception {
    Store a = store("a");
    try (Session session = Session.open(a, service, "a")) {
      session.acquire(NAMES, LEASE);
      return committed(session.append(a.log(Rig.JOBS), bytes("m"))).timestamp();
    }
  }

  /**
   * As in a store that was restored: its service knows of no lease that they were written under.
   */
  @Test
  void whatStandsAboveAllThatTheServiceKnowsIsSettledToo() throws Exception {
    long last = written();
    Store b = store("b");
    try (Session session = Session.open(b, serve(key, rig.time, b, 7), "b")) {
      session.acquire(NAMES, LEASE);
      long end = session.settleEarlier(b.log(Rig.JOBS));
      assertTrue(end > last);
      assertEquals(end, b.log(Rig.JOBS).reader().settledThrough());
    }
  }

  /** It is no message of an earlier run, and those who write it are not to be hindered. */
  @Test
  void whatStandsAboveUnderSomeOfTheLeasesAloneIsNotSettled() throws Exception {
    long last = written();
    Store b = store("b");
    try (Session session = Session.open(b, serve(key, rig.time, b, 7), "b")) {
      session.acquire(List.of(NAME, new LeaseName("tenant-8")), LEASE);
      assertTrue(session.settleEarlier(b.log(Rig.JOBS)) <= last);
      assertTrue(b.log(Rig.JOBS).reader().settledThrough() <= last);
    }
  }

  @Test
  void whatStandsAboveUnderALeaseThatHadRunOutIsNotSettled() throws Exception {
    Grant grant = acquire("a");
    rig.time.advanceNanos(LEASE.toNanos() + 1);
    long last;
    try (LogWriter writer = store("a").log(Rig.JOBS).writer(Durability.SYNC)) {
      var stamp = new LeaseStamp(grant.witnesses(), Long.MIN_VALUE, Long.MAX_VALUE);
      last = committed(writer.append(stamp, bytes("m"))).timestamp();
    }
    Store b = store("b");
    try (Session session = Session.open(b, serve(key, rig.time, b, 7), "b")) {
      session.acquire(NAMES, LEASE);
      assertTrue(session.settleEarlier(b.log(Rig.JOBS)) <= last);
    }
  }

  @Test
  void l2_releaseWaitsForEveryVerdict() throws Exception {
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    Store a = store(fs, rig.time, "a");
    try (Session session = Session.open(a, service, "a")) {
      session.acquire(NAMES, Duration.ofSeconds(50));
      committed(session.append(a.log(Rig.JOBS), bytes("fine")));
      fs.arm(1, FaultyFs.Fault.ERROR_AFTER, op -> op.kind() == FaultyFs.Kind.FORCE);
      byte[] m = bytes("who knows");
      PendingReceipt pending = session.submit(a.log(Rig.JOBS), m, 0, m.length);
      assertTrue(session.release());
      assertTrue(pending.isDone(), "released before the verdict was in");
      committed(pending.await()); // forced after all
    }
  }

  @Test
  void l3_afterARestartThatForgotEverythingTheEarlierCeilingIsFenced() throws Exception {
    Grant lost = acquire("a");
    service = serve(key, rig.time, store("head2"));
    assertEquals(
        LeaseRefusedException.Reason.NOT_YET,
        assertThrows(LeaseRefusedException.class, () -> acquire("b")).reason());
    rig.time.advanceMs(120_000);
    Store b = store("b");
    try (Session session = Session.open(b, service, "b")) {
      Witness w = session.acquire(NAMES, LEASE).witnesses().get(0).witness();
      assertEquals(2, w.instance());
      assertTrue(session.fence(NAME).upTo() >= lost.expiry());
      assertTrue(w.lowerBound() >= lost.expiry());
      committed(session.append(b.log(Rig.JOBS), bytes("b")));
    }
  }

  @Test
  void l3_l9_anInstanceThatHasASuccessorStopsForGood() throws Exception {
    ServiceInstance successor = serve(key, rig.time, store("head2"));
    rig.time.advanceMs(120_000); // long enough that it must look, or publish, before it signs
    assertEquals(
        LeaseRefusedException.Reason.SUPERSEDED,
        assertThrows(LeaseRefusedException.class, () -> acquire("a")).reason());
    assertEquals(2, successor.info().instance());
  }

  @Test
  void l8_aWitnessFromAServerWithAWrongClockIsRefused() throws Exception {
    Store a = store("a");
    ServiceInstance wrong = serve(key, rig.time.skewed(600_000 * MS), a, 9);
    try (Session session = Session.open(a, wrong, "a")) {
      var e = assertThrows(SessionRefusedException.class, () -> session.acquire(NAMES, LEASE));
      assertTrue(String.valueOf(e.getMessage()).contains("clock"), e.getMessage());
    }
  }

  @Test
  void l9_aLowerInstanceThanOneMetBeforeIsRefused() throws Exception {
    Store a = store("a");
    var either = new Cut(serve(key, rig.time, a, 9));
    try (Session session = Session.open(a, either, "a")) {
      session.acquire(List.of(new LeaseName("one")), LEASE);
      either.service = service;
      var e = assertThrows(SessionRefusedException.class, () -> session.acquire(NAMES, LEASE));
      assertTrue(String.valueOf(e.getMessage()).contains("instance 9 exists"), e.getMessage());
    }
  }

  @Test
  void l16_aSessionHoldsLeasesOfServersOfSeveralShards() throws Exception {
    StoreContext store = store("a").context();
    ShardMap map = StoreShards.publish(store, 2, key);
    LeaseHost[] servers = new LeaseHost[2];
    for (int i = 0; i < 2; i++) {
      var registry = new StoreInstances(store, Optional.empty(), new Shard(map, i + 1), key);
      servers[i] =
          ServiceInstance.builder(new WitnessSigner(key), rig.time)
              .storeInCallers()
              .registry(registry)
              .start();
    }
    rig.time.advanceMs(60_000);
    var either = new Cut(servers[0]);
    try (Session session = Session.open(store("a"), either, "a")) {
      int[] held = new int[2];
      for (int i = 0; held[0] + held[1] < 4; i++) {
        var name = new LeaseName("n" + i);
        int shard = map.shardOf(name);
        if (held[shard - 1] < 2 && (i == 0 || shard != map.shardOf(new LeaseName("n" + (i - 1))))) {
          either.service = servers[shard - 1];
          session.acquire(List.of(name), LEASE);
          held[shard - 1]++;
        }
      }
      assertEquals(4, session.leases().size());
    }
  }

  @Test
  void leasesThatCouldNotBeFencedAreNotRenewedAnyMore() throws Exception {
    acquire("a"); // and is never heard of again
    rig.time.advanceMs(LEASE.toMillis() + 1);
    var network = new Cut(service);
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    LeaseKeeper keeper = LeaseKeeper.stepped(rig.time);
    Store b = store(fs, rig.time, "b");
    try (var writers = new Writers(b, Durability.SYNC);
        Session session = Session.open(writers, network, "b", keeper)) {
      var lost = new ArrayList<String>();
      session.listen((names, why) -> lost.add(why));
      fs.before(
          op -> {
            if (op.kind() == FaultyFs.Kind.CREATE && op.path().toString().contains("intents")) {
              network.cut = true; // so that it can't be given back either
              throw new IOException("the disk is full");
            }
          });
      assertThrows(IOException.class, () -> session.acquire(NAMES, LEASE));
      fs.before(op -> {});
      network.cut = false;
      assertEquals(Long.MAX_VALUE, keeper.doWork());
      assertEquals(List.of(), lost);
      rig.time.advanceMs(LEASE.toMillis() + 1);
      assertEquals(Ending.BROKEN, acquire("c").witnesses().get(0).witness().previousEnding());
    }
  }

  /** By whoever asks next, or ends. */
  @Test
  void leasesThatCouldNotBeGivenBackAreGivenBackLater() throws Exception {
    var network = new Cut(service);
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    Session session = Session.open(store(fs, rig.time, "b"), network, "b");
    for (int i = 0; i < 2; i++) {
      acquire(i == 0 ? "a" : "c"); // and is never heard of again
      rig.time.advanceMs(LEASE.toMillis() + 1);
      fs.before(
          op -> {
            if (op.kind() == FaultyFs.Kind.CREATE && op.path().toString().contains("intents")) {
              network.cut = true;
              throw new IOException("the disk is full");
            }
          });
      assertThrows(IOException.class, () -> session.acquire(NAMES, LEASE));
      fs.before(op -> {});
      network.cut = false;
      assertEquals(LeaseInfo.State.HELD, service.show(NAME).orElseThrow().state());
      if (i == 0) {
        session.acquire(NAMES, LEASE);
        assertTrue(session.release());
      }
    }
    session.close();
    assertEquals(LeaseInfo.State.RELEASED, service.show(NAME).orElseThrow().state());
  }

  @Test
  void leasesThatThereWasNoMemoryToFenceForAreGivenBack() throws Exception {
    acquire("a"); // and is never heard of again
    rig.time.advanceMs(LEASE.toMillis() + 1);
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    LeaseKeeper keeper = LeaseKeeper.stepped(rig.time);
    Store b = store(fs, rig.time, "b");
    try (var writers = new Writers(b, Durability.SYNC);
        Session session = Session.open(writers, service, "b", keeper)) {
      fs.before(
          op -> {
            if (op.kind() == FaultyFs.Kind.CREATE && op.path().toString().contains("intents")) {
              throw new OutOfMemoryError("made by a test");
            }
          });
      assertThrows(OutOfMemoryError.class, () -> session.acquire(NAMES, LEASE));
      assertEquals(Long.MAX_VALUE, keeper.doWork());
      assertEquals(Ending.RELEASED, acquire("c").witnesses().get(0).witness().previousEnding());
    }
  }

  @Test
  void f4_aReleaseThatIsNotAnsweredStopsNoOther() throws Exception {
    var network = new Cut(service);
    try (Session session = Session.open(store("a"), network, "a")) {
      session.acquire(NAMES, LEASE);
      session.acquire(List.of(new LeaseName("another")), LEASE);
      network.beforeRelease = () -> network.cut = !network.cut; // the first one, not the second
      assertThrows(LeaseUnavailableException.class, session::release);
      assertEquals(
          LeaseInfo.State.RELEASED, service.show(new LeaseName("another")).orElseThrow().state());
      assertEquals(LeaseInfo.State.HELD, service.show(NAME).orElseThrow().state());
      network.beforeRelease = () -> {};
      assertTrue(session.release());
      assertEquals(LeaseInfo.State.RELEASED, service.show(NAME).orElseThrow().state());
    }
  }

  @Test
  void leasesOfASessionThatEndedWithoutAServiceAreNotRenewedAnyMore() throws Exception {
    var network = new Cut(service);
    LeaseKeeper keeper = LeaseKeeper.stepped(rig.time);
    try (var writers = new Writers(store("a"), Durability.SYNC)) {
      Session session = Session.open(writers, network, "a", keeper);
      session.acquire(NAMES, LEASE);
      session.acquire(List.of(new LeaseName("another")), LEASE);
      network.cut = true;
      assertThrows(LeaseUnavailableException.class, session::end);
      network.cut = false;
      assertEquals(Long.MAX_VALUE, keeper.doWork());
    }
  }

  @Test
  void aServerWhoseKeyTheStoreDoesNotTrustIsRefused() throws Exception {
    var foreign =
        ServiceInstance.builder(new WitnessSigner(SigningKey.generate()), rig.time)
            .fresh(true)
            .start();
    try (Session session = Session.open(store("a"), foreign, "a")) {
      var e = assertThrows(SessionRefusedException.class, () -> session.acquire(NAMES, LEASE));
      assertTrue(String.valueOf(e.getMessage()).contains("not one that this store trusts"));
    }
  }

  @Test
  void aLogMadeAfterTheGrantIsGainedByARenewal() throws Exception {
    Store a = store("a");
    try (Session session = Session.open(a, service, "a")) {
      session.acquire(NAMES, LEASE);
      Log late = a.createLog(new LogName("late"));
      committed(session.append(late, bytes("m")));
    }
  }

  @Test
  void tooShortALeaseIsRefusedBeforeItIsAskedFor() throws Exception {
    try (Session session = Session.open(store("a"), service, "a")) {
      assertThrows(
          IllegalArgumentException.class, () -> session.acquire(NAMES, Duration.ofSeconds(3)));
    }
  }

  /** Who trusted the service's key stopped before its name was forced. */
  @Test
  void f3_aKeyThatASessionReliesOnIsDurable() throws Exception {
    SigningKey other = SigningKey.ofSeed(Arrays.copyOf(new byte[] {2}, 32));
    Store a = store("a");
    ServiceInstance outside = serve(other, rig.time, a, 9);
    rig.time.advanceMs(300_000);
    rig.settle(a.log(Rig.JOBS)); // so that nothing is left to fence
    var stopped = new FaultyFs(rig.disk.view(Rig.BOB));
    Store adder = store(stopped, rig.time, "adder");
    stopped.arm(1, FaultyFs.Fault.CRASH_AFTER, op -> op.kind() == FaultyFs.Kind.LINK);
    assertThrows(
        FaultyFs.Crash.class, () -> TrustedKeyFiles.add(adder.context(), other.publicKey(), key));
    try (Session session = Session.open(a, outside, "a")) {
      session.acquire(NAMES, LEASE);
      committed(session.append(a.log(Rig.JOBS), bytes("kept")));
    }
    rig.disk.powerCut();
    assertEquals(2, CountingKeys.ofStore(a.context()).now().size());
  }
}
