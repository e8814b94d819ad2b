package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.fs.ClockedFs;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Grant;
import dev.cinch.lease.LeaseName;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.Witness;
import dev.cinch.lease.hold.LeaseKeeper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** F1 and L8 where logs are made while leases change hands. */
class NewLogRulesTest extends SessionRig {
  private static final LogName LATE = new LogName("late");

  @Test
  void f1_whatWasGainedWhileTheNextHolderSleptIsFencedToo() throws Exception {
    Store a = store("a");
    Store b = store("b");
    try (LeaseKeeper idle = LeaseKeeper.stepped(rig.time);
        Session first = Session.open(new Writers(a, Durability.SYNC), service, "a", idle)) {
      Duration shorter = LEASE.dividedBy(2);
      first.acquire(NAMES, shorter);
      var slow = new Cut(service);
      slow.before = // B has listed the logs, and its request takes long
          () -> {
            committed(first.append(a.createLog(LATE), bytes("a")));
            rig.time.advanceNanos(shorter.toNanos() + 1);
          };
      try (Session session = Session.open(b, slow, "b")) {
        session.acquire(NAMES, LEASE);
        assertSettled(b, LATE, session.fence(NAME));
      }
    }
  }

  @Test
  void l8_aFenceForAllLogsIsForThoseMadeWhileItWasWaitedFor() throws Exception {
    Grant unused = acquire("a");
    restart();
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    fs.beforeFirst(op -> op.kind() == FaultyFs.Kind.LINK, () -> make(LATE));
    Store b = store(fs, rig.time, "b");
    try (Session session = Session.open(b, service, "b")) {
      session.acquire(NAMES, LEASE);
      Fence fence = session.fence(NAME);
      assertEquals(LogSet.ALL, fence.logs());
      assertSettled(b, Rig.JOBS, fence);
      assertSettled(b, LATE, fence);
    }
  }

  /** Its maker sleeps before the first directory, or before the identity. */
  @ParameterizedTest
  @EnumSource(
      value = FaultyFs.Kind.class,
      names = {"MKDIR", "LINK"})
  void l8_aFenceForAllLogsIsForThoseThatAreBeingMade(FaultyFs.Kind slept) throws Exception {
    Grant lost = acquire("a");
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    Store slow = store(fs, rig.time, "slow");
    fs.beforeFirst(
        op -> op.kind() == slept && op.path().toString().contains("/late"),
        () -> {
          restart();
          try (Session session = Session.open(store("b"), service, "b")) {
            session.acquire(NAMES, LEASE);
            assertTrue(session.fence(NAME).upTo() >= lost.expiry());
          }
        });
    Log late = slow.createLog(LATE);
    assertTrue(late.context().created() >= lost.expiry());
  }

  @Test
  void l8_underLeasesNothingIsOlderThanItsLogAndThatThanWhatWasSettledBefore() throws Exception {
    Grant lost = acquire("a");
    rig.time.advanceNanos(LEASE.toNanos() + 1);
    try (Session session = Session.open(store("b"), service, "b")) {
      session.acquire(NAMES, LEASE);
    }
    // The file server's clock steps back, and A's, who slept all the time, does too.
    var back = rig.time.skewed(-2 * LEASE.toNanos());
    StoreFs fs = new ClockedFs(rig.disk.view(Rig.ALICE), back);
    Log late = store(fs, back, "a").createLog(LATE);
    assertTrue(late.context().created() >= lost.expiry(), "not by that clock alone");
    LogWriter writer = late.writer(Durability.SYNC);
    var stamp = new LeaseStamp(lost.witnesses(), Long.MIN_VALUE, lost.expiry());
    var refused =
        assertThrows(MessageRefusedException.class, () -> writer.append(stamp, bytes("late")));
    assertEquals(
        "the lease allows timestamps below %d, and the log was made at %d"
            .formatted(lost.expiry(), late.context().created()),
        refused.getMessage());
  }

  /** Its maker stopped before its first directory was the group's, and goes on much later. */
  @Test
  void l8_aHalfMadeLogThatMayNotBeWrittenToStopsNobodyAndIsNotOlderThanTheFence() throws Exception {
    Grant lost = acquire("a");
    restart();
    var back = rig.time.skewed(-2 * 120_000 * MS);
    StoreFs fs = new ClockedFs(rig.disk.view(Rig.BOB), back);
    Store maker = store(fs, back, "b");
    fs.mkdir(maker.context().layout().log(LATE).root().path(), 0755);
    try (Session session = Session.open(store("a"), service, "a")) {
      session.acquire(NAMES, LEASE);
      assertSettled(store("a"), Rig.JOBS, session.fence(NAME));
    }
    assertTrue(maker.createLog(LATE).context().created() >= lost.expiry());
  }

  @Test
  void aLogWhoseClockWasFarAheadDoesNotMakeThoseAfterItLate() throws Exception {
    var ahead = rig.time.skewed(2 * LEASE.toNanos());
    StoreFs fs = new ClockedFs(rig.disk.view(Rig.ALICE), ahead);
    Log first = store(fs, ahead, "a").createLog(new LogName("a-first"));
    Log late = store("b").createLog(LATE);
    assertTrue(late.context().created() < first.context().created());
    assertTrue(late.context().created() <= rig.time.wallNanos());
  }

  @Test
  void moreLogsThanTheWitnessesOfOneRequestCanNameAreAllThereAre() throws Exception {
    Store a = store("a");
    int logs = 20;
    int names = Grant.MAX_LOGS / logs;
    for (int i = a.logs().size(); i < logs; i++) {
      makeIn(a, i);
    }
    List<LeaseName> many = IntStream.range(0, names).mapToObj(i -> new LeaseName("n" + i)).toList();
    try (Session session = Session.open(a, service, "a")) {
      Grant grant = session.acquire(many, LEASE);
      assertEquals(logs, grant.witnesses().get(0).witness().logs().ids().size());
      // One more, which a renewal would be refused.
      committed(session.append(a.createLog(LATE), bytes("m")));
      assertEquals(LogSet.ALL, service.show(many.get(0)).orElseThrow().witness().logs());
      committed(session.append(a.createLog(new LogName("later")), bytes("m")));
      session.release();
      Grant all = session.acquire(many, LEASE);
      assertEquals(LogSet.ALL, all.witnesses().get(names - 1).witness().logs());
      committed(session.append(a.log(LATE), bytes("m")));
    }
  }

  @Test
  void logsAboveThoseThatAWitnessCanNameAreAllThereAre() throws Exception {
    Store a = store("a");
    for (int i = a.logs().size(); i < Witness.MAX_LOGS; i++) {
      makeIn(a, i);
    }
    try (Session session = Session.open(a, service, "a")) {
      Grant grant = session.acquire(NAMES, LEASE);
      assertEquals(1_000, grant.witnesses().get(0).witness().logs().ids().size());
      committed(session.append(a.createLog(LATE), bytes("m")));
      assertEquals(LogSet.ALL, service.show(NAME).orElseThrow().witness().logs());
      session.release();
      grant = session.acquire(NAMES, LEASE); // of more logs than a witness can name
      assertEquals(LogSet.ALL, grant.witnesses().get(0).witness().logs());
      committed(session.append(a.log(new LogName("more-7")), bytes("m")));
    }
  }

  /** All in one store, whose ids of logs differ. */
  private static void makeIn(Store store, int number) throws IOException {
    Log unused = store.createLog(new LogName("more-" + number));
  }

  private void make(LogName name) {
    try {
      Log unused = store("maker").createLog(name);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void assertSettled(Store store, LogName name, Fence fence) throws IOException {
    var tip = store.log(name).horizon().chain().freshTip();
    assertTrue(tip.isPresent(), name + " was not fenced");
    assertTrue(tip.get().record().to() >= fence.upTo(), name + " was not fenced far enough");
  }
}
