package dev.cinch.bag.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.LogRemovedException;
import dev.cinch.bag.Rig;
import dev.cinch.bag.Session;
import dev.cinch.bag.Store;
import dev.cinch.bag.Writers;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.close.HorizonAdvance;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.Intents;
import dev.cinch.bag.close.Locks;
import dev.cinch.bag.close.TooEarlyException;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.registry.StoreCeilings;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.store.LogContext;
import dev.cinch.bag.store.RemovedLogs;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.lease.Grant;
import dev.cinch.lease.Id;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.hold.LeaseKeeper;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The protocol over a storage that has no file, no mode and no cache. */
abstract class StorageProtocol {
  abstract Storage storage(ManualTime time);

  private static final long SECOND = 1_000_000_000L;

  private static final LeaseName NAME = new LeaseName("tenant-7");
  private static final Duration LEASE = Duration.ofSeconds(10);

  private final ManualTime time = ManualTime.ticking();
  private final Storage storage = storage(time);
  private final SigningKey key = SigningKey.ofSeed(new byte[32]);
  private int machines;

  /** Another process. */
  private Store store() {
    return Rig.open(storage, time, "m" + machines++);
  }

  private LogContext open() throws Exception {
    return store().createLog(Rig.JOBS).context();
  }

  private LogWriter writer() throws Exception {
    return store().createLog(Rig.JOBS).writer(Durability.SYNC);
  }

  private static Receipt append(LogWriter writer, String text) throws Exception {
    return writer.append(bytes(text));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  @Test
  void whatWasCommittedIsInTheLocks() throws Exception {
    var receipts = new ArrayList<Receipt>();
    try (LogWriter one = writer();
        LogWriter two = writer()) {
      for (int i = 0; i < 20; i++) {
        receipts.add(append(i % 2 == 0 ? one : two, "message " + i));
        time.advanceNanos(SECOND / 3);
      }
    }
    time.advanceNanos(10 * SECOND);
    LogContext log = open();
    var horizon = new HorizonAdvance(log);
    Link tip = horizon.advance(horizon.reachable(), OptionalLong.of(time.wallNanos()));
    assertEquals(tip.record(), new HorizonChain(open()).freshTip().orElseThrow().record());
    assertEquals(List.of(), new Intents(open()).left(Freshness.CERTAIN));
    long messages = 0;
    for (ClosedBucket bucket : tip.record().buckets()) {
      messages += new Locks(open()).readListed(bucket).sums().messages();
    }
    assertEquals(20, messages);
    receipts.forEach(r -> assertInstanceOf(Receipt.Committed.class, r));
  }

  @Test
  void anAppendThatMeetsAMarkReadsItsVerdict() throws Exception {
    try (LogWriter writer = writer()) {
      var before = assertInstanceOf(Receipt.Committed.class, append(writer, "before"));
      LogContext log = open();
      Bucket bucket = Bucket.of(before.timestamp(), log.bucketWidth());
      // A closer that measures now, as far as it gets before its bucket is over.
      Name intent = log.layout().intent(bucket.end(), Id.random(new Random(1)));
      boolean unused = log.storage().publish(intent, new byte[0]);
      log.storage().seal(log.layout().bucket(bucket));
      Receipt late = append(writer, "late");
      assertTrue(late.timestamp() > before.timestamp());
      Locks.Closed lock = new Locks(log).read(bucket).orElseThrow(); // the writer has closed it
      assertEquals(late instanceof Receipt.Committed ? 2 : 1, lock.sums().messages());
      log.storage().removeQuietly(intent);
    }
  }

  private ServiceInstance serve(Store store) throws Exception {
    return ServiceInstance.builder(new WitnessSigner(key), time)
        .storeInCallers()
        .registry(new StoreInstances(store.context(), key))
        .start();
  }

  private static List<String> settled(Log log) throws Exception {
    var all = new ArrayList<String>();
    log.reader()
        .settled(
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            true,
            m -> all.add(new String(m.payload(), StandardCharsets.UTF_8)),
            (m, f, why) -> {});
    return all;
  }

  /** All of a store: keys, instances, ceilings, leases, a fence, closing and reading. */
  @Test
  void whoTakesALeaseFencesWhoLostIt() throws Exception {
    StoreContext head = store().context();
    assertEquals(1, TrustedKeyFiles.add(head, key));
    ServiceInstance service = serve(store());
    Store a = store();
    Log log = a.createLog(Rig.JOBS);
    Grant lost;
    try (LeaseKeeper keeper = LeaseKeeper.stepped(time);
        Session session = Session.open(new Writers(a, Durability.SYNC), service, "a", keeper)) {
      lost = session.acquire(List.of(NAME), LEASE);
      assertInstanceOf(Receipt.Committed.class, session.append(log, bytes("before")));
      service = serve(store()); // which knows no lease of the first one
      time.advanceMs(120_000);
      assertThrows(MessageRefusedException.class, () -> session.append(log, bytes("too late")));
    }
    assertTrue(StoreInstances.latest(head).orElseThrow().number() >= 2); // one may be passed over
    assertTrue(StoreCeilings.of(head).highestOfAll().orElseThrow() >= lost.expiry());
    Store b = store();
    try (Session session = Session.open(b, service, "b")) {
      session.acquire(List.of(NAME), LEASE);
      assertTrue(session.fence(NAME).upTo() >= lost.expiry());
      assertInstanceOf(Receipt.Committed.class, session.append(b.log(Rig.JOBS), bytes("after")));
    }
    time.advanceNanos(10 * SECOND);
    HorizonAdvance horizon = store().log(Rig.JOBS).horizon();
    Link tip = horizon.advance(horizon.reachable(), OptionalLong.of(time.wallNanos()));
    assertEquals(1, tip.record().trustedKeys());
    assertEquals(List.of("before", "after"), settled(store().log(Rig.JOBS)));
    var found = new ArrayList<Finding>();
    assertEquals(2, StoreVerifier.verify(store(), found::add).messages());
    assertEquals(List.of(), found);
  }

  /** Where places need not be made, none is missing while it is empty. */
  @Test
  void aLogWithoutARecordIsWhole() throws Exception {
    LogContext unused = open();
    var found = new ArrayList<Finding>();
    assertEquals(1, StoreVerifier.verify(store(), found::add).logs());
    assertEquals(List.of(), found);
  }

  @Test
  void aLogOfWhichNothingWasClosedYetIsIntact() throws Exception {
    try (LogWriter writer = writer()) {
      assertInstanceOf(Receipt.Committed.class, append(writer, "first"));
    }
    var found = new ArrayList<Finding>();
    assertEquals(1, StoreVerifier.verify(store(), found::add).messages());
    assertEquals(List.of(), found);
  }

  @Test
  void aLogThatWasRemovedIsNotMadeAgain() throws Exception {
    LogContext log = open();
    assertEquals(List.of(Rig.JOBS), store().freshLogs());
    var unused = new RemovedLogs(log.store()).bury(log);
    assertThrows(LogRemovedException.class, this::open);
  }

  @Test
  void nobodySettlesTheFuture() throws Exception {
    var horizon = new HorizonAdvance(open());
    assertThrows(
        TooEarlyException.class,
        () -> horizon.advance(time.wallNanos() + SECOND, OptionalLong.empty()));
    assertEquals(List.of(), new Intents(open()).left(Freshness.CERTAIN));
  }
}
