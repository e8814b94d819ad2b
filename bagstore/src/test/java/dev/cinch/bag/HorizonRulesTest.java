package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.cinch.bag.audit.AuditReport;
import dev.cinch.bag.audit.AuditStore;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.LeaseAuditor;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.audit.Violation;
import dev.cinch.bag.close.HorizonAdvance;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.OpinionNeededException;
import dev.cinch.bag.close.TooEarlyException;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Fault;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.fs.StaleListFs;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Message;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.store.ClockException;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Altered;
import dev.cinch.lease.Id;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Rules H1 to H5; each test is named after its rule. */
class HorizonRulesTest {
  private static final long SECOND = 1_000_000_000;

  private final Rig rig = rig();
  private final Ledger ledger = new Ledger();

  private static Rig rig() {
    try {
      return Rig.memory(13);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private Log alice() throws IOException {
    return rig.open(rig.disk.view(Rig.ALICE));
  }

  private Log bob() throws IOException {
    return rig.open(rig.disk.view(Rig.BOB));
  }

  private static List<String> live(Log log) throws Exception {
    var seen = new ArrayList<String>();
    log.reader()
        .live(
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            m -> seen.add(new String(m.payload()) + (m.settled() ? "" : "?")),
            (m, f, why) -> {});
    return seen;
  }

  @Test
  void h1_aBucketMadeLateAndNotListedDoesNotExist() throws Exception {
    var late = new FaultyFs(rig.disk.view(Rig.ALICE));
    LogWriter writer = rig.open(late).writer(Durability.SYNC);
    late.beforeFirst(
        op -> op.kind() == Kind.MKDIR && op.path().toString().contains("buckets"),
        () -> rig.settle(bob()));
    assertInstanceOf(Receipt.Rejected.class, ledger.append(writer, "late"));
    ledger.append(writer, "now");
    assertEquals(List.of("now?"), live(bob()));
    rig.settle(bob());
    assertEquals(List.of("now"), live(bob()));
    ledger.check(Ledger.settled(bob()));
  }

  @Test
  void h1_aRecordThatMayStillBeLinkedKeepsItsIntent() throws Exception {
    var slow = new FaultyFs(rig.disk.view(Rig.BOB)); // as on a soft mount
    Log closer = rig.open(slow);
    StoreFs server = rig.disk.view(Rig.BOB);
    LogLayout layout = closer.context().layout();
    Path record = layout.record(1).path();
    Path records = layout.recordGroup(0).path();
    slow.before(
        op -> {
          if (op.kind() == Kind.LINK && op.path().equals(record)
              || op.is(Kind.UNLINK, "tmp-") && op.path().startsWith(records)) {
            throw new IOException(op + ": timed out");
          }
        });
    var late = new FaultyFs(rig.disk.view(Rig.ALICE));
    LogWriter writer = rig.open(late).writer(Durability.SYNC);
    late.beforeFirst( // made after the closer has listed the tree
        op -> op.kind() == Kind.MKDIR && op.path().toString().contains("buckets"),
        () -> assertThrows(IOException.class, () -> rig.settle(closer)));
    ledger.append(writer, "late");
    String temporary =
        server.list(records).stream()
            .filter(name -> name.startsWith("tmp-"))
            .findFirst()
            .orElseThrow();
    assertThrows( // the writer has found the intent, and settled it
        FileAlreadyExistsException.class, () -> server.link(records.resolve(temporary), record));
    rig.settle(bob());
    ledger.check(Ledger.settled(bob()));
    assertEquals(
        List.of(), rig.disk.view(Rig.BOB).list(closer.context().layout().intents().path()));
  }

  /** Or the locks that it made would look as if their record were missing. */
  @Test
  void h7_aCloserThatFailsLeavesItsIntentAndTheNextRecordSweepsIt() throws Exception {
    var full = new FaultyFs(rig.disk.view(Rig.BOB));
    Log closer = rig.open(full);
    ledger.append(alice().writer(Durability.SYNC), "m");
    full.arm(
        1,
        Fault.ERROR_BEFORE,
        op -> op.kind() == Kind.WRITE && op.path().toString().contains("/records/"));
    assertThrows(IOException.class, () -> rig.settle(closer));
    assertTrue(full.fired());
    Path intents = closer.context().layout().intents().path();
    assertEquals(1, rig.disk.view(Rig.BOB).list(intents).size());
    assertEquals(List.of("m?"), live(bob()));
    rig.settle(bob());
    assertEquals(List.of(), rig.disk.view(Rig.BOB).list(intents));
    assertEquals(List.of("m"), live(bob()));
  }

  /** As on a full disk, where an append tries each second for days. */
  @Test
  void section4_whoTriesAgainGoesByTheIntentThatIsThere() throws Exception {
    var full = new FaultyFs(rig.disk.view(Rig.BOB));
    Log closer = rig.open(full);
    ledger.append(alice().writer(Durability.SYNC), "m");
    rig.time.advanceMs(60_000);
    HorizonAdvance horizon = closer.horizon();
    long to = horizon.reachable();
    Path intents = closer.context().layout().intents().path();
    var seen = new HashSet<String>();
    for (int i = 0; i < 3; i++) {
      full.arm(
          1, Fault.ERROR_BEFORE, op -> op.kind() == Kind.CREATE && op.path().endsWith("prelock"));
      assertThrows(IOException.class, () -> horizon.advance(to, OptionalLong.empty()));
      List<String> there = rig.disk.view(Rig.BOB).list(intents);
      assertEquals(1, there.size());
      seen.addAll(there);
    }
    assertEquals(1, seen.size());
    full.unlink(intents.resolve(List.copyOf(seen).get(0)));
    full.arm(
        1, Fault.ERROR_BEFORE, op -> op.kind() == Kind.CREATE && op.path().endsWith("prelock"));
    assertThrows(IOException.class, () -> horizon.advance(to, OptionalLong.empty()));
    assertEquals(1, rig.disk.view(Rig.BOB).list(intents).size(), "one that is gone covers nothing");
    full.arm(
        1, Fault.ERROR_BEFORE, op -> op.kind() == Kind.CREATE && op.path().endsWith("prelock"));
    rig.time.advanceMs(60_000);
    long further = horizon.reachable();
    assertThrows(IOException.class, () -> horizon.advance(further, OptionalLong.empty()));
    assertEquals(2, rig.disk.view(Rig.BOB).list(intents).size(), "one that reaches no further");
    horizon.advance(further, OptionalLong.empty());
    assertEquals(List.of(), rig.disk.view(Rig.BOB).list(intents));
    assertEquals(List.of("m"), live(bob()));
  }

  /** No closer left it: it costs an append one look, and no closing. */
  @Test
  void h7_anIntentAheadOfItsOwnTimeCountsForNothingAndGoesAfterADay() throws Exception {
    Log log = bob();
    Path intents = log.context().layout().intents().path();
    long now = rig.time.wallNanos();
    for (long ahead : new long[] {5 * SECOND, 3_600 * SECOND, 1_000_000_000 * SECOND}) {
      long width = log.context().bucketWidth();
      Path intent =
          log.context()
              .layout()
              .intent(Bucket.ceiling(now + ahead, width), new Id(1, ahead))
              .path();
      rig.disk.view(Rig.ALICE).create(intent, 0664).close();
    }
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    LogWriter writer = rig.open(fs).writer(Durability.SYNC);
    fs.clearTrace();
    ledger.append(writer, "m");
    assertTrue(fs.trace().stream().noneMatch(op -> op.is(Kind.LIST, "buckets")));
    assertTrue(fs.trace().size() < 60, "no closing: " + fs.trace().size());
    var notes = new ArrayList<Finding>();
    assertTrue(
        StoreVerifier.verify(
                rig.root, rig.environment(rig.disk.view(Rig.BOB), rig.time), notes::add)
            .intact());
    assertEquals(3, notes.size(), notes::toString);
    rig.settle(log);
    rig.time.advanceMs(23 * 3_600_000L);
    rig.settle(log);
    assertEquals(1, rig.disk.view(Rig.BOB).list(intents).size(), "those that are settled go");
    rig.time.advanceMs(2 * 3_600_000L);
    rig.settle(log);
    assertEquals(List.of(), rig.disk.view(Rig.BOB).list(intents));
    ledger.check(Ledger.settled(bob()));
  }

  @Test
  void h1_aBucketMadeWhileACloserListsIsListedOrRejected() throws Exception {
    var slow = new FaultyFs(rig.disk.view(Rig.BOB));
    Log closer = rig.open(slow);
    rig.time.advanceMs(1_000);
    LogWriter writer = alice().writer(Durability.SYNC);
    var late = new FaultyFs(rig.disk.view(Rig.ALICE));
    LogWriter paused = rig.open(late).writer(Durability.SYNC);
    ledger.append(writer, "listed");
    // The closer has listed the tree; the writer makes its bucket; then the record is linked.
    late.beforeFirst(
        op -> op.kind() == Kind.MKDIR && op.path().toString().contains("buckets"),
        () -> {
          slow.arm(1, Fault.CRASH_BEFORE, op -> op.is(Kind.LINK, "0000000001"));
          rig.time.advanceMs(1_000);
          assertThrows(FaultyFs.Crash.class, () -> rig.settle(closer));
        });
    ledger.append(paused, "late");
    rig.settle(bob());
    ledger.check(Ledger.settled(bob()));
  }

  @Test
  void h1_aWriterThatMakesABucketAfterTheListingMeetsTheIntent() throws Exception {
    // A writer whose machine sleeps for ten seconds, and looked at its clock just before.
    var lag = new AtomicLong();
    LogWriter writer =
        rig.open(rig.disk.view(Rig.ALICE), rig.time.lagging(lag)).writer(Durability.SYNC);
    ledger.append(writer, "before");
    rig.time.advanceMs(1_000);
    long to = rig.time.wallNanos() + SECOND;
    rig.time.advanceMs(10_000);
    lag.set(10 * SECOND);
    var slow = new FaultyFs(rig.disk.view(Rig.BOB));
    Log closer = rig.open(slow);
    slow.beforeFirst(
        op -> op.kind() == Kind.LINK && op.path().toString().contains("records"),
        () -> ledger.append(writer, "after the listing"));
    closer.horizon().advance(to, OptionalLong.empty());
    assertEquals(2, ledger.count(Receipt.class));
    ledger.check(Ledger.settled(bob()));
  }

  @Test
  void h2_theChainHasNoGapAndNoForkWhoeverLinksFirst() throws Exception {
    for (int i = 0; i < 5; i++) {
      ledger.append(alice().writer(Durability.SYNC), "m" + i);
      var slow = new FaultyFs(rig.disk.view(Rig.BOB));
      Log loser = rig.open(slow);
      long to = rig.time.wallNanos() + SECOND;
      rig.time.advanceMs(10_000);
      slow.beforeFirst(
          op -> op.kind() == Kind.LINK && op.path().toString().contains("records"),
          () -> alice().horizon().advance(to - SECOND, OptionalLong.empty()));
      loser.horizon().advance(to, OptionalLong.empty());
    }
    HorizonChain chain = bob().horizon().chain();
    HorizonChain.Link tip = chain.freshTip().orElseThrow();
    assertEquals(10, tip.record().number());
    for (long n = 2; n <= tip.record().number(); n++) {
      assertEquals(chain.read(n - 1).record().to(), chain.read(n).record().from());
      assertEquals(chain.read(n - 1).digest(), chain.read(n).record().previous());
    }
    ledger.check(Ledger.settled(bob()));
  }

  @Test
  void f3_aRecordNamesNoFewerKeysThanTheOneBefore() throws Exception {
    ledger.append(alice().writer(Durability.SYNC), "one");
    var slow = new FaultyFs(rig.disk.view(Rig.BOB));
    Log loser = rig.open(slow);
    long to = rig.time.wallNanos() + 2 * SECOND;
    rig.time.advanceMs(10_000);
    slow.beforeFirst( // it has counted the keys
        op -> op.kind() == Kind.LINK && op.path().toString().contains("records"),
        () -> {
          SigningKey key = SigningKey.ofSeed(new byte[32]);
          assertEquals(1, TrustedKeyFiles.add(alice().context().store(), key));
          alice().horizon().advance(to - SECOND, OptionalLong.empty());
        });
    HorizonChain.Link tip = loser.horizon().advance(to, OptionalLong.empty());
    assertEquals(2, tip.record().number());
    assertEquals(1, tip.record().trustedKeys());
  }

  @Test
  void h2_idleTimeCostsOneRecordAndNoDirectory() throws Exception {
    ledger.append(alice().writer(Durability.SYNC), "one");
    rig.settle(bob());
    rig.time.advanceMs(1_000_000);
    var fs = new FaultyFs(rig.disk.view(Rig.BOB));
    Log closer = rig.open(fs);
    fs.clearTrace();
    long to = closer.horizon().reachable();
    closer.horizon().advance(to, OptionalLong.empty());
    assertEquals(2, bob().horizon().chain().freshTip().orElseThrow().record().number());
    assertFalse(
        fs.trace().stream()
            .anyMatch(op -> op.kind() == Kind.MKDIR && op.path().toString().contains("buckets")));
    assertTrue(fs.trace().size() < 124, "it costs nothing per idle bucket: " + fs.trace().size());
  }

  @Test
  void h3_aStaleLookMakesAReadOldAndNeverWrong() throws Exception {
    Log reader = rig.open(new StaleListFs(rig.disk.view(Rig.BOB)));
    ledger.append(alice().writer(Durability.SYNC), "one");
    rig.settle(alice());
    assertEquals(1, known(reader).size());
    ledger.append(alice().writer(Durability.SYNC), "two");
    rig.settle(alice());
    assertEquals(1, known(reader).size(), "old");
    assertEquals(2, Ledger.settled(reader).size(), "fresh");
  }

  private static List<Long> known(Log log) throws Exception {
    var seen = new ArrayList<Long>();
    log.reader()
        .settled(
            Long.MIN_VALUE, Long.MAX_VALUE, false, m -> seen.add(m.timestamp()), (m, f, why) -> {});
    return seen;
  }

  @Test
  void h4_liveReadersMarkWhatIsNotSettledAndHonourLocks() throws Exception {
    ledger.append(alice().writer(Durability.SYNC), "settled");
    rig.settle(bob());
    ledger.append(alice().writer(Durability.SYNC), "locked");
    rig.time.advanceMs(1_000);
    // A closer locks the bucket and stops; what comes after does not exist, though not settled.
    var stopped = new FaultyFs(rig.disk.view(Rig.BOB));
    Log closer = rig.open(stopped);
    stopped.arm(1, Fault.CRASH_BEFORE, op -> op.is(Kind.LINK, "0000000002"));
    assertThrows(FaultyFs.Crash.class, () -> rig.settle(closer));
    ledger.append(alice().writer(Durability.SYNC), "open");
    List<String> seen = live(bob());
    // What a lock covers exists, and is settled only once a record lists the lock.
    assertEquals(List.of("settled", "locked?", "open?"), seen);
    rig.settle(bob());
    assertEquals(List.of("settled", "locked", "open"), live(bob()));
    ledger.check(Ledger.settled(bob()));
  }

  /** The reader has looked at the chain; then all this happens; then it lists the tree. */
  @Test
  void h4_whatWasRejectedBeforeALiveReadLookedLastIsNotInIt() throws Exception {
    var late = new FaultyFs(rig.disk.view(Rig.ALICE));
    LogWriter writer = rig.open(late).writer(Durability.SYNC);
    late.beforeFirst(
        op -> op.kind() == Kind.MKDIR && op.path().toString().contains("buckets"),
        () -> rig.settle(bob()));
    var slow = new FaultyFs(rig.disk.view(Rig.BOB));
    Log reader = rig.open(slow);
    slow.beforeFirst(
        op -> op.is(Kind.LIST, "buckets"),
        () -> {
          assertInstanceOf(Receipt.Rejected.class, ledger.append(writer, "late"));
          ledger.append(writer, "now");
        });
    assertEquals(List.of("now?"), live(reader));
    rig.settle(bob());
    ledger.check(Ledger.settled(bob()));
  }

  /** However often it finds that more is settled, it gets on. */
  @Test
  void h4_aLiveReadBesideACloserReadsEverythingOnce() throws Exception {
    var expected = new ArrayList<String>();
    for (int i = 0; i < 100; i++) {
      ledger.append(alice().writer(Durability.SYNC), "m" + i);
      expected.add("m" + i);
      rig.time.advanceMs(1_000);
    }
    var slow = new FaultyFs(rig.disk.view(Rig.BOB));
    Log reader = rig.open(slow);
    Log closer = alice();
    long width = closer.context().bucketWidth();
    long start = Bucket.floor(rig.time.wallNanos(), width) - 100 * width;
    int[] lists = {0};
    slow.before(
        op -> {
          if (op.kind() == Kind.LIST && op.path().toString().contains("buckets")) {
            rig.time.advanceMs(1_000);
            closer.horizon().advance(start + ++lists[0] * width, OptionalLong.empty());
          }
        });
    List<String> seen = live(reader);
    assertEquals(expected, seen.stream().map(m -> m.replace("?", "")).toList());
    assertTrue(lists[0] >= 100, "advances: " + lists[0]);
    assertTrue(seen.contains("m50"), seen::toString);
  }

  /** So who goes on from there later misses nothing, and keeps nothing that was rejected. */
  @Test
  void h4_belowTheTimeThatALiveReadGivesAllWasDeliveredAsSettled() throws Exception {
    var all = new ArrayList<Long>();
    for (int i = 0; i < 100; i++) {
      all.add(ledger.append(alice().writer(Durability.SYNC), "m" + i).timestamp());
      rig.time.advanceMs(1_000);
    }
    Log closer = alice();
    rig.time.advanceMs(10_000);
    long first = closer.horizon().advance(all.get(9) + 1, OptionalLong.empty()).record().to();
    var seen = new ArrayList<Message>();
    long given =
        bob()
            .reader()
            .live(
                Long.MIN_VALUE,
                Long.MAX_VALUE,
                m -> {
                  if (seen.size() == 50) { // some of what was delivered is settled now
                    advance(closer, all.get(29) + 1);
                  }
                  return seen.add(m);
                },
                (m, f, why) -> {});
    assertEquals(all, seen.stream().map(Message::timestamp).toList());
    assertEquals(first, given);
    for (Message m : seen) {
      assertEquals(m.timestamp() < given, m.settled());
    }
  }

  private static void advance(Log log, long time) throws IOException {
    try {
      log.horizon().advance(time, OptionalLong.empty());
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void h5_fencesRoundUp() throws Exception {
    Receipt r = ledger.append(alice().writer(Durability.SYNC), "one");
    rig.time.advanceMs(10_000);
    HorizonChain.Link tip = bob().horizon().advance(r.timestamp() + 1, OptionalLong.empty());
    assertTrue(tip.record().to() > r.timestamp());
    assertEquals(0, Math.floorMod(tip.record().to(), SECOND));
    long boundary = tip.record().to();
    assertEquals(boundary, bob().horizon().advance(boundary, OptionalLong.empty()).record().to());
    assertTrue(
        bob().horizon().advance(boundary + 1, OptionalLong.empty()).record().to() > boundary);
  }

  @Test
  void section4_tooEarlyLeavesNoMark() throws Exception {
    ledger.append(alice().writer(Durability.SYNC), "one");
    Log closer = bob();
    long now = rig.time.wallNanos();
    assertThrows(
        TooEarlyException.class, () -> closer.horizon().advance(now, OptionalLong.empty()));
    long far = now + 7_200 * SECOND;
    rig.time.advanceMs(8_000_000);
    assertThrows(
        OpinionNeededException.class, () -> closer.horizon().advance(far, OptionalLong.empty()));
    Path intents = closer.context().layout().intents().path();
    assertEquals(List.of(), rig.disk.view(Rig.BOB).list(intents));
    closer.horizon().advance(far, OptionalLong.of(rig.time.wallNanos()));
    ledger.check(Ledger.settled(closer));
  }

  /** However often it is tried, and however late it is said to be: nobody walks it there. */
  @Test
  void section5_theNewestBucketIsSettledWithoutAnOpinionAndNothingFurther() throws Exception {
    ledger.append(alice().writer(Durability.SYNC), "one");
    rig.settle(bob());
    Receipt last = ledger.append(alice().writer(Durability.SYNC), "two");
    Log closer = bob();
    long grace = closer.context().store().settings().graceNanos();
    for (int hour = 2; hour < 5; hour++) {
      rig.time.advanceMs(hour * 3_600_000L);
      assertThrows(
          OpinionNeededException.class,
          () -> closer.horizon().advance(closer.horizon().reachable(), OptionalLong.empty()));
      HorizonChain.Link tip = closer.horizon().chain().freshTip().orElseThrow();
      assertEquals(2, tip.record().number());
      assertEquals(Bucket.ceiling(last.timestamp(), SECOND) + grace, tip.record().to());
      assertEquals(List.of("one", "two"), live(closer));
      assertEquals(
          List.of(), rig.disk.view(Rig.BOB).list(closer.context().layout().intents().path()));
    }
    // An opinion that says that the clock has jumped is as good as none.
    assertThrows(
        OpinionNeededException.class,
        () ->
            closer
                .horizon()
                .advance(closer.horizon().reachable(), OptionalLong.of(last.timestamp())));
    assertEquals(2, closer.horizon().chain().freshTip().orElseThrow().record().number());
    Receipt next = ledger.append(alice().writer(Durability.SYNC), "three");
    rig.time.advanceMs(30_000);
    closer.horizon().advance(closer.horizon().reachable(), OptionalLong.empty());
    assertTrue(
        closer.horizon().chain().freshTip().orElseThrow().record().settles(next.timestamp()));
    ledger.check(Ledger.settled(closer));
  }

  @Test
  void section5_aCloserWhoseOwnClockIsOffRefusesAndLeavesNoMark() throws Exception {
    Receipt r = ledger.append(alice().writer(Durability.SYNC), "one");
    rig.time.advanceMs(10_000);
    var bounds = alice().context().store().settings();
    long ahead = (bounds.clockAheadMs() + 1_000) * 1_000_000;
    long behind = -(bounds.clockBehindMs() + 1_000) * 1_000_000;
    for (long skew : new long[] {ahead, behind}) {
      Log closer = rig.open(rig.disk.view(Rig.BOB), rig.time.skewed(skew));
      ClockException e =
          assertThrows(
              ClockException.class,
              () -> closer.horizon().advance(r.timestamp() + 1, OptionalLong.empty()));

      String byHowMuch = "%.3f s".formatted(Math.abs(skew) / 1e9);
      assertTrue(e.toString().contains(byHowMuch), e.toString());
    }
    Log closer =
        rig.open(rig.disk.view(Rig.BOB), rig.time.skewed(-bounds.clockBehindMs() / 2 * 1_000_000));
    assertEquals(Optional.empty(), closer.horizon().chain().freshTip());
    assertEquals(
        List.of(), rig.disk.view(Rig.BOB).list(closer.context().layout().intents().path()));
    closer.horizon().advance(r.timestamp() + 1, OptionalLong.empty());
    ledger.check(Ledger.settled(closer));
  }

  /** Its intent would count: a boundary that has passed, and a grace period that has not. */
  @Test
  void section4_whatIsOverByLessThanTheGracePeriodIsTooEarly() throws Exception {
    long end =
        Bucket.ceiling(ledger.append(alice().writer(Durability.SYNC), "one").timestamp(), SECOND);
    Log closer = bob();
    rig.time.advanceNanos(end - rig.time.wallNanos() + 5 * SECOND / 10);
    assertTrue(closer.horizon().reachable() < end);
    assertThrows(
        TooEarlyException.class, () -> closer.horizon().advance(end, OptionalLong.empty()));
    assertEquals(
        List.of(), rig.disk.view(Rig.BOB).list(closer.context().layout().intents().path()));
  }

  @Test
  void section4_theOutermostTimesAreTooEarlyOrDone() throws Exception {
    ledger.append(alice().writer(Durability.SYNC), "one");
    rig.settle(bob());
    HorizonChain.Link tip = bob().horizon().advance(Long.MIN_VALUE, OptionalLong.empty());
    assertEquals(1, tip.record().number());
    assertThrows(
        TooEarlyException.class,
        () -> bob().horizon().advance(Long.MAX_VALUE, OptionalLong.empty()));
  }

  /** For readers, from the beginning and from a time; an audit tells it and goes on behind it. */
  @Test
  void h2_aRecordThatIsLostOrDamagedIsDamageAndNoOtherError() throws Exception {
    var bounds = new ArrayList<Long>();
    for (int i = 0; i < 3; i++) {
      bounds.add(ledger.append(alice().writer(Durability.SYNC), "m" + i).timestamp());
      rig.settle(bob());
    }
    Log log = bob();
    Store store = Store.open(rig.root, rig.environment(rig.disk.view(Rig.BOB), rig.time));
    Path record = log.context().layout().record(2).path();
    for (boolean lost : new boolean[] {false, true}) {
      rig.disk.view(0).unlink(record);
      if (!lost) {
        PosixStore.of(log.context().store().storage()).fresh().publish(record, new byte[100], 0664);
      }
      assertThrows(DamagedException.class, () -> Ledger.settled(log));
      assertThrows(
          DamagedException.class,
          () ->
              log.reader()
                  .settled(bounds.get(1), Long.MAX_VALUE, true, m -> true, (m, f, why) -> {}));
      AuditReport report = LeaseAuditor.audit(store);
      assertEquals(1, report.violationCount());
      assertEquals(Violation.Rule.DAMAGE, report.violations().get(0).rule());
      assertEquals(Name.of(record), report.violations().get(0).path());
      assertEquals(2, report.messages());
    }
  }

  /**
   * A key is trusted before anything is written under it. So who counts the keys after the buckets
   * are closed counts all that their messages need, however wrong a writer's clock is.
   */
  @Test
  void f3_aKeyCountsForWhatWasWrittenUnderItBeforeTheBucketWasClosed() throws Exception {
    StoreSettings d = StoreSettings.DEFAULT;
    Rig required = Rig.memory(31, Altered.with(d, "leases", StoreSettings.Leases.REQUIRED));
    var behind = new AtomicLong();
    Log log = required.open(required.disk.view(Rig.ALICE), required.time.skewed(behind));
    LogWriter writer = log.writer(Durability.SYNC);
    SigningKey one = SigningKey.ofSeed(new byte[32]);
    SigningKey two = SigningKey.ofSeed(Arrays.copyOf(new byte[] {2}, 32));
    assertEquals(1, TrustedKeyFiles.add(log.context().store(), one));
    Receipt first = writer.append(stamp(required, one), new byte[] {1});
    assertInstanceOf(Receipt.Committed.class, first);
    required.time.advanceMs(10_000);
    behind.set(-10 * SECOND);
    var slow = new FaultyFs(required.disk.view(Rig.BOB));
    Log closer = required.open(slow);
    slow.beforeFirst(
        op -> op.is(Kind.LIST, "buckets"),
        () -> {
          assertEquals(2, TrustedKeyFiles.add(log.context().store(), two.publicKey(), one));
          Receipt second = writer.append(stamp(required, two), new byte[] {2});
          assertInstanceOf(Receipt.Committed.class, second);
        });
    closer.horizon().advance(first.timestamp() + 1, OptionalLong.empty());
    assertEquals(2, Ledger.settled(closer).size());
  }

  private static LeaseStamp stamp(Rig rig, SigningKey key) {
    long now = rig.time.wallNanos();
    return AuditStore.stamp(
        new WitnessSigner(key)
            .sign(Altered.first("name", "holder", new Id(now, 1), now, now + 60 * SECOND)));
  }

  /** Whoever waits until that can be read which was written so far, and writes nothing itself. */
  @Test
  void h3_whatWasWrittenIsAwaited() throws Exception {
    LogWriter writer = alice().writer(Durability.SYNC);
    HorizonAdvance waits = bob().horizon();
    assertEquals(Long.MIN_VALUE, waits.written());
    ledger.append(writer, "one");
    rig.time.advanceNanos(SECOND); // another bucket
    long last = ledger.append(writer, "two").timestamp();
    long to = waits.written();
    assertEquals(Bucket.of(last, bob().context().bucketWidth()).end(), to);
    var told = new ArrayList<Long>();
    assertEquals(to, waits.await(to, OptionalLong.empty(), told::add).record().to());
    assertEquals(List.of("one", "two"), live(bob()));
    assertEquals(to, waits.written());
    // It comes as soon as it may, and looks each second whether that is now.
    long grace = bob().context().store().settings().graceNanos();
    assertTrue(rig.time.wallNanos() < to + grace + SECOND / 10);
    assertTrue(told.size() >= 2 && told.size() <= 4, told::toString);
    assertTrue(told.get(told.size() - 1) <= SECOND, told::toString);
    waits.await(to, OptionalLong.empty(), left -> fail("there is nothing to wait for"));
    ledger.check(Ledger.settled(bob()));
  }
}
