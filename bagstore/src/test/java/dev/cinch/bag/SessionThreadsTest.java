package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.audit.LeaseAuditor;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseInfo;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LeaseReport;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.hold.LeaseKeeper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Sessions whose threads, stores and writers get into each other's way. */
@Timeout(600)
class SessionThreadsTest extends SessionRig {
  private static final LeaseName SECOND = new LeaseName("second");

  private Session open(Store store, Cut network) {
    return Session.open(
        new Writers(store, Durability.SYNC), network, "a", LeaseKeeper.stepped(rig.time));
  }

  /** A log is made and gained after the second lease was asked for without it. */
  @Test
  void f1_aLeaseTakenByAnotherThreadMeanwhileNamesTheLogToo() throws Exception {
    Store store = store("a");
    var network = new Cut(service);
    try (Session session = open(store, network)) {
      session.acquire(NAMES, LEASE);
      Log late = store.createLog(new LogName("late"));
      rig.time.advanceMs(1);
      network.afterRenewal = // asked for when there was no such log, and granted now
          () -> {
            network.afterRenewal = () -> {};
            network.logs = LogSet.of(List.of(store.log(Rig.JOBS).id()));
            var other =
                new Thread(
                    () -> {
                      try {
                        session.acquire(List.of(SECOND), LEASE);
                      } catch (Exception e) {
                        throw new IllegalStateException(e);
                      }
                    });
            other.start();
            other.join();
          };
      committed(session.append(late, bytes("m")));
      assertTrue(session.end());
      rig.settle(late);
      rig.settle(store.log(Rig.JOBS));
      assertEquals(List.of(), LeaseAuditor.audit(store).violations());
    }
  }

  @Test
  void f1_withoutLeasesNothingIsAppended() throws Exception {
    Store store = store("a");
    Log jobs = store.log(Rig.JOBS);
    try (Session session = Session.open(store, service, "a")) {
      assertThrows(MessageRefusedException.class, () -> session.append(jobs, bytes("before")));
      session.acquire(NAMES, LEASE);
      committed(session.append(jobs, bytes("m")));
      assertTrue(session.release());
      assertThrows(MessageRefusedException.class, () -> session.append(jobs, bytes("after")));
    }
  }

  /** What was written and not forced may come into existence later. */
  @Test
  void l2_aLeaseIsNotGivenBackWhileTheFateOfAMessageIsUnknown() throws Exception {
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    Store store = store(fs, rig.time, "a");
    Log jobs = store.log(Rig.JOBS);
    var error = new OutOfMemoryError("made by a test");
    Session session = open(store, new Cut(service));
    session.acquire(NAMES, LEASE);
    fs.before(
        op -> {
          if (op.is(Kind.FORCE, ".log")) {
            throw error;
          }
        });
    assertThrows(OutOfMemoryError.class, () -> session.append(jobs, bytes("m")));
    assertSame(error, assertThrows(IllegalStateException.class, session::release).getCause());
    assertThrows(IllegalStateException.class, session::close);
    assertEquals(LeaseInfo.State.HELD, service.show(NAME).orElseThrow().state());
  }

  @Test
  void l2_whatBefallsOtherSessionsOfTheSameWritersStopsNoRelease() throws Exception {
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    Store store = store(fs, rig.time, "a");
    Log jobs = store.log(Rig.JOBS);
    Log other = store.createLog(new LogName("other"));
    var writers = new Writers(store, Durability.SYNC);
    LeaseKeeper idle = LeaseKeeper.stepped(rig.time);
    try (Session session = Session.open(writers, service, "a", idle)) {
      session.acquire(NAMES, LEASE);
      committed(session.append(jobs, bytes("m")));
      fs.before(
          op -> {
            if (op.is(Kind.FORCE, ".log")) {
              throw new OutOfMemoryError("made by a test");
            }
          });
      assertThrows(OutOfMemoryError.class, () -> writers.writer(other).append(bytes("m")));
      assertTrue(session.end());
    }
    assertThrows(IllegalStateException.class, writers::close);
  }

  /** Or whoever wants them waits as long as this process lives. */
  @Test
  void f4_leasesThatAreFencedForWantOfMemoryAreRenewedByNobody() throws Exception {
    Grant unused = acquire("a");
    rig.time.advanceNanos(LEASE.toNanos() + 1);
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    LeaseKeeper keeper = LeaseKeeper.stepped(rig.time);
    Session session = open(fs, keeper);
    fs.beforeFirst(
        op -> op.kind() == Kind.LINK,
        () -> {
          throw new OutOfMemoryError("made by a test");
        });
    assertThrows(OutOfMemoryError.class, () -> session.acquire(NAMES, LEASE));
    assertEquals(Long.MAX_VALUE, keeper.doWork(), "no lease is kept");
    assertNotEquals(LeaseInfo.State.HELD, service.show(NAME).orElseThrow().state());
  }

  @Test
  void f4_leasesThatAreTakenWhileTheSessionIsClosedAreGivenBack() throws Exception {
    Grant unused = acquire("a");
    rig.time.advanceNanos(LEASE.toNanos() + 1);
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    LeaseKeeper keeper = LeaseKeeper.stepped(rig.time);
    Session session = open(fs, keeper);
    fs.beforeFirst(op -> op.kind() == Kind.LINK, session::close);
    var refused = assertThrows(SessionRefusedException.class, () -> session.acquire(NAMES, LEASE));
    assertEquals("the session is closed", refused.getMessage());
    assertEquals(Long.MAX_VALUE, keeper.doWork(), "no lease is kept");
    assertNotEquals(LeaseInfo.State.HELD, service.show(NAME).orElseThrow().state());
  }

  private Session open(FaultyFs fs, LeaseKeeper keeper) throws IOException {
    var writers = new Writers(store(fs, rig.time, "b"), Durability.SYNC);
    return Session.open(writers, service, "b", keeper);
  }

  /** The loss is found by an append to a log that the leases did not name yet. */
  @Test
  void whoIsToldOfALossMayCloseTheSession() throws Exception {
    Store store = store("b");
    Session session = open(store, new Cut(service));
    Grant grant = session.acquire(NAMES, LEASE);
    Log late = store.createLog(new LogName("late"));
    var refusals = new AtomicInteger();
    session.listen(
        (names, why) -> {
          session.close();
          refusals.incrementAndGet();
        });
    service.release(grant.id(), LeaseReport.NOTHING);
    var appender =
        new Thread(
            () ->
                assertThrows(
                    MessageRefusedException.class, () -> session.append(late, bytes("m"))));
    appender.setDaemon(true);
    appender.start();
    appender.join();
    assertEquals(1, refusals.get());
  }

  @Test
  void aListenerThatFailsKeepsNoOtherFromBeingTold() throws Exception {
    LeaseKeeper keeper = LeaseKeeper.stepped(rig.time);
    Session session = open(new FaultyFs(rig.disk.view(Rig.ALICE)), keeper);
    session.acquire(NAMES, LEASE);
    var told = new AtomicInteger();
    session.listen(
        (names, why) -> {
          throw new IllegalStateException("made by a test");
        });
    session.listen((names, why) -> told.incrementAndGet());
    rig.time.advanceNanos(LEASE.toNanos() + 1);
    assertEquals(Long.MAX_VALUE, keeper.doWork());
    assertEquals(1, told.get());
  }

  /** The watermark is of the timestamps of one Store object. */
  @Test
  void l2_logsOfAnotherStoreObjectAreRefused() throws Exception {
    Log jobs = store("a").log(Rig.JOBS);
    try (Session session = Session.open(store("a"), service, "a")) {
      session.acquire(NAMES, LEASE);
      assertThrows(IllegalArgumentException.class, () -> session.append(jobs, bytes("m")));
    }
  }

  /** Whoever asks another store's service is refused, and that costs no fence. */
  @Test
  void l9_aSessionOfAnotherStoreIsRefusedAndTheFenceIsCarriedOn() throws Exception {
    Store other =
        Store.init(
            Path.of("/other"),
            StoreSettings.DEFAULT,
            new Store.Environment(
                rig.disk.view(Rig.ALICE), new MachineName("other"), rig.time, new Random(77)));
    assertEquals(1, TrustedKeyFiles.add(other.context(), key));
    Log unused = other.createLog(Rig.JOBS);
    long expiry = acquire("a").expiry();
    rig.time.advanceNanos(LEASE.toNanos() + 1);
    try (Session session = Session.open(other, service, "b")) {
      var e = assertThrows(SessionRefusedException.class, () -> session.acquire(NAMES, LEASE));
      assertTrue(String.valueOf(e.getMessage()).contains("another store"), e.getMessage());
    }
    try (Session session = Session.open(store("c"), service, "c")) {
      session.acquire(NAMES, LEASE);
      assertFalse(session.fence(NAME).isNone());
      var tip = store("c").log(Rig.JOBS).horizon().chain().freshTip();
      assertTrue(tip.orElseThrow().record().to() >= expiry);
    }
    try (Session session = Session.open(store("d"), service, "d")) {
      session.acquire(NAMES, LEASE);
      assertTrue(session.fence(NAME).isNone(), "that one found them all");
    }
  }
}
