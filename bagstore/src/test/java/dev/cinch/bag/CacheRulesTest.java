package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.fs.CorruptCacheFs;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.fs.NegativeFs;
import dev.cinch.bag.fs.SharedFs;
import dev.cinch.bag.fs.StaleListFs;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.bag.write.PendingReceipt;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Caches and sweepers in the way of live readers and closers; found by simulation. */
class CacheRulesTest {
  private Rig rig;
  private final Ledger ledger = new Ledger();

  @BeforeEach
  void start() throws IOException {
    rig = Rig.memory(23);
  }

  private Log alice() throws IOException {
    return rig.open(rig.disk.view(Rig.ALICE));
  }

  private Log bob() throws IOException {
    return rig.open(rig.disk.view(Rig.BOB));
  }

  private void append(String text) throws Exception {
    ledger.append(alice().writer(Durability.SYNC), text);
  }

  /** A "no" by name could outlast the closing: whose listing is certain does not ask. */
  @Test
  void n3_aLiveReadAsksForNoLockThatAListingLacks() throws Exception {
    append("one");
    var traced = new FaultyFs(rig.disk.view(Rig.BOB));
    Log reader = rig.open(traced);
    assertEquals(List.of("one"), Ledger.live(reader));
    List<FaultyFs.Op> asked =
        traced.trace().stream().filter(op -> op.path().endsWith("lock")).toList();
    assertEquals(List.of(), asked);
    rig.settle(alice());
    assertEquals(List.of("one"), Ledger.live(reader));
    assertTrue(traced.trace().stream().anyMatch(op -> op.path().endsWith("lock")));
  }

  @Test
  void h3_aLiveReadFindsWhatAStaleListingHides() throws Exception {
    Log reader = rig.open(new StaleListFs(rig.disk.view(Rig.BOB)));
    append("one");
    assertEquals(List.of("one"), Ledger.live(reader));
    append("two"); // another file in the same bucket
    assertEquals(List.of("one", "two"), Ledger.live(reader));
    rig.time.advanceNanos(reader.context().bucketWidth());
    append("three"); // another bucket
    assertEquals(List.of("one", "two", "three"), Ledger.live(reader));
  }

  @Test
  void n5_aLiveReadGoesPastABadPage() throws Exception {
    append("one");
    for (int from : List.of(0, 150)) { // in the header, and after it
      StoreFs bad =
          new CorruptCacheFs(
              rig.disk.view(Rig.BOB), file -> file.toString().endsWith(".log"), from);
      assertEquals(List.of("one"), Ledger.live(rig.open(bad)));
    }
  }

  private static Runnable settling(Rig rig, Log other) {
    return () -> {
      try {
        rig.settle(other);
      } catch (IOException | InterruptedException e) {
        throw new IllegalStateException(e);
      }
    };
  }

  @Test
  void closing_aSweptTemporaryFileIsNoErrorOnceThereIsALock() throws Exception {
    append("one");
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    Log slow = rig.open(fs);
    Runnable faster = settling(rig, bob());
    var done = new AtomicBoolean();
    fs.before(
        op -> {
          if (op.is(Kind.FORCE, "tmp-")
              && op.path().toString().contains("/buckets/")
              && done.compareAndSet(false, true)) {
            faster.run();
            throw new FileSystemException(op.path().toString(), null, "Stale file handle");
          }
        });
    rig.settle(slow);
    assertEquals(true, done.get());
    ledger.check(Ledger.settled(slow));
  }

  @Test
  void advancing_anIntentThatWasSweptBeforeItHadItsModeIsNoError() throws Exception {
    append("one");
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    Log slow = rig.open(fs);
    Runnable faster = settling(rig, bob());
    var done = new AtomicBoolean();
    fs.before(
        op -> {
          if (op.kind() == Kind.CREATE
              && op.path().toString().contains("/intents/2")
              && done.compareAndSet(false, true)) {
            faster.run();
            throw new NoSuchFileException(op.path().toString());
          }
        });
    rig.settle(slow);
    assertEquals(true, done.get());
    ledger.check(Ledger.settled(slow));
  }

  @Test
  void n2_aSweptEntryIsNoErrorOfAListing() throws Exception {
    append("one");
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    Log reader = rig.open(fs);
    StoreFs sweeper = rig.disk.view(Rig.ALICE);
    var swept = new AtomicBoolean();
    fs.before(
        op -> {
          if (op.is(Kind.UNLINK, "tmp-") && op.path().toString().contains("/buckets/")) {
            sweeper.unlink(op.path());
            swept.set(true);
          }
        });
    assertEquals(List.of("one"), Ledger.live(reader));
    assertEquals(true, swept.get());
  }

  /** Who may not make entries, on a network filesystem. */
  private static void mayNotWrite(FaultyFs.Op op) throws IOException {
    if (op.kind() == Kind.CREATE) {
      throw new AccessDeniedException(op.path().toString());
    }
  }

  private FaultyFs network() {
    return new FaultyFs(new SharedFs(rig.disk.view(Rig.BOB)));
  }

  private static List<String> permitted(Log log) throws IOException {
    var texts = new ArrayList<String>();
    log.reader()
        .settled(
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            m -> texts.add(new String(m.payload(), StandardCharsets.UTF_8)),
            (m, f, why) -> {});
    return texts;
  }

  /** The listing that is asked in place of an entry of one's own may be old. */
  @Test
  void n2_aLockThatARecordListsIsWaitedForWhileCachesMayBeOld() throws Exception {
    append("one");
    rig.settle(alice());
    FaultyFs fs = network();
    Log reader = rig.open(fs);
    long expired = rig.time.monotonicNanos() + 30_000_000_000L;
    fs.before(
        op -> {
          mayNotWrite(op);
          if (op.path().endsWith("lock") && rig.time.monotonicNanos() < expired) {
            throw new NoSuchFileException(op.path().toString());
          }
        });
    assertEquals(List.of("one"), permitted(reader));
    assertTrue(rig.time.monotonicNanos() >= expired);
  }

  /** As where its kernel gave up the link of that lock, which the server made later. */
  @Test
  void n2_aLockThatAnOldListingHidesIsFoundByAnEntryOfOnesOwn() throws Exception {
    append("one");
    Log other = alice();
    rig.settle(other);
    long start = other.horizon().chain().read(1).record().buckets().get(0).start();
    Path bucket =
        other.context().layout().bucket(new Bucket(start, other.context().bucketWidth())).path();
    rig.time.advanceMs(120_000);
    var fs = new FaultyFs(new SharedFs(rig.disk.view(Rig.BOB)));
    Log reader = rig.open(fs);
    var knows = new AtomicBoolean();
    fs.before(
        op -> {
          if (op.path().startsWith(bucket) && op.kind() == Kind.CREATE) {
            knows.set(true);
          } else if (op.path().equals(LogLayout.lock(Name.of(bucket)).path()) && !knows.get()) {
            throw new NoSuchFileException(op.path().toString());
          }
        });
    ledger.check(Ledger.settled(reader));
  }

  /** The cache says so, and then the reader sleeps until every cache has expired. */
  @Test
  void n2_aLockIsLookedForAgainAfterAPause() throws Exception {
    append("one");
    rig.settle(alice());
    FaultyFs fs = network();
    Log reader = rig.open(fs);
    int[] looks = {0};
    fs.before(
        op -> {
          mayNotWrite(op);
          if (op.path().endsWith("lock") && looks[0]++ < 2) {
            rig.time.advanceMs(120_000);
            throw new NoSuchFileException(op.path().toString());
          }
        });
    assertEquals(List.of("one"), permitted(reader));
  }

  /** Also where its mode is another's to set. */
  @ParameterizedTest
  @ValueSource(ints = {Rig.ALICE, Rig.BOB})
  void closing_whoFindsAnothersLockChangesTheDirectory(int closer) throws Exception {
    append("one");
    var fs = new FaultyFs(new SharedFs(rig.disk.view(closer)));
    Log slow = rig.open(fs);
    Log other = alice();
    var changed = new AtomicLong();
    fs.before(
        op -> {
          if (op.is(Kind.FORCE, "tmp-")
              && op.path().toString().contains("/buckets/")
              && changed.get() == 0) {
            settling(rig, other).run();
            Path bucket = Objects.requireNonNull(op.path().getParent());
            changed.set(rig.disk.view(0).status(bucket).changeTime());
            rig.time.advanceMs(1);
            throw new FileSystemException(op.path().toString(), null, "Stale file handle");
          }
        });
    rig.settle(slow);
    long start = slow.horizon().chain().read(1).record().buckets().get(0).start();
    Path bucket =
        slow.context().layout().bucket(new Bucket(start, slow.context().bucketWidth())).path();
    assertTrue(changed.get() > 0);
    assertTrue(rig.disk.view(0).status(bucket).changeTime() > changed.get());
  }

  private interface Look {
    void at(Rig rig, StoreFs fs) throws Exception;
  }

  private static Stream<Look> looks() {
    return Stream.of(
        (rig, fs) -> Ledger.live(rig.open(fs)),
        (rig, fs) -> {
          List<Finding> found = new ArrayList<>();
          StoreVerifier.verify(rig.root, rig.environment(fs, rig.time), found::add);
          assertEquals(List.of(), found);
        });
  }

  /** A server's clock that was set back may show the time of that "no" once more, at the end. */
  @ParameterizedTest
  @MethodSource("looks")
  void n3_nobodyAsksForALockBeforeItIsThere(Look look) throws Exception {
    append("one");
    var coarse = new NegativeFs(rig.disk.view(Rig.BOB), true);
    look.at(rig, coarse);
    rig.settle(alice());
    ledger.check(Ledger.settled(rig.open(coarse)));
  }

  @Test
  void n3_aCloserDoesNotAskForALockBeforeItIsThere() throws Exception {
    append("one");
    var fs = new FaultyFs(new NegativeFs(rig.disk.view(Rig.BOB), true));
    Log slow = rig.open(fs);
    fs.beforeFirst(op -> op.is(Kind.CREATE, "prelock"), settling(rig, alice())::run);
    rig.settle(slow);
    ledger.check(Ledger.settled(slow));
  }

  /**
   * Else who looked for the lock just before would believe for ever that there is none. Bob can't
   * set the mode of a directory that Alice made.
   */
  @ParameterizedTest
  @ValueSource(ints = {Rig.ALICE, Rig.BOB})
  void n2_aClosedDirectoryLooksOtherThanWhenItsLockWasLinked(int closer) throws Exception {
    append("one");
    var shared = new SharedFs(rig.disk.view(closer), time -> time - time % 20_000_000);
    Log log = rig.open(shared);
    rig.settle(log); // within one tick, unless somebody sleeps
    long start = log.horizon().chain().read(1).record().buckets().get(0).start();
    Path bucket =
        log.context().layout().bucket(new Bucket(start, log.context().bucketWidth())).path();
    long linked = shared.status(LogLayout.lock(Name.of(bucket)).path()).changeTime();
    long closed = shared.status(bucket).changeTime();
    assertTrue(closed > linked, closed + " after " + linked);
    assertTrue(closed - linked < 1_000_000_000L); // no longer than it must
  }

  /** Over NFS a lock that is read while it is retired is a stale handle. */
  @Test
  void closing_aLockThatGoesWhileItIsReadIsNoErrorOfASettledBucket() throws Exception {
    append("one");
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    Log slow = rig.open(fs);
    fs.beforeFirst(op -> op.is(Kind.CREATE, "prelock"), settling(rig, bob())::run);
    fs.after(
        op -> {
          if (op.kind() == Kind.GET && op.path().endsWith("lock")) {
            throw new FileSystemException(op.path().toString(), null, "Stale file handle");
          }
        });
    rig.settle(slow);
    assertTrue(fs.trace().stream().anyMatch(op -> op.is(Kind.GET, "lock")));
    ledger.check(Ledger.settled(bob()));
  }

  @Test
  void closing_aBucketIsTriedAgainAfterAPause() throws Exception {
    append("one");
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    Log slow = rig.open(fs);
    var done = new AtomicBoolean();
    fs.before(
        op -> {
          if (op.is(Kind.CREATE, "prelock") && done.compareAndSet(false, true)) {
            rig.time.advanceMs(120_000);
            throw new AccessDeniedException(op.path().toString()); // its maker sets its mode next
          }
        });
    rig.settle(slow);
    assertEquals(true, done.get());
    ledger.check(Ledger.settled(slow));
  }

  @Test
  void n2_aLockThatWasLostLongAgoIsNotWaitedFor() throws Exception {
    append("one");
    rig.settle(alice());
    Log reader = alice();
    var record = reader.horizon().chain().read(1).record();
    var bucket = new Bucket(record.buckets().get(0).start(), reader.context().bucketWidth());
    rig.disk.view(0).unlink(LogLayout.lock(reader.context().layout().bucket(bucket)).path());
    rig.time.advanceMs(120_000);
    long before = rig.time.monotonicNanos();
    assertThrows(DamagedException.class, () -> Ledger.settled(reader));
    assertTrue(rig.time.monotonicNanos() - before < 1_000_000_000L);
  }

  private static long committers() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(t -> t.getName().startsWith("cinch-commit"))
        .count();
  }

  @Test
  void appending_messagesThatAreAwaitedNeedNoThread() throws Exception {
    Log log = alice();
    long before = committers();
    LogWriter writer = log.writer(Durability.SYNC);
    byte[] payload = {1, 2, 3};
    PendingReceipt one = writer.submit(LeaseStamp.NONE, payload, 0, 3, false);
    rig.time.advanceNanos(log.context().bucketWidth()); // the next goes into another batch
    PendingReceipt two = writer.submit(LeaseStamp.NONE, payload, 0, 3, false);
    assertEquals(Receipt.Committed.class, one.await().getClass());
    assertEquals(Receipt.Committed.class, two.await().getClass());
    assertEquals(before, committers());
  }
}
