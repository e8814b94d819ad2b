package dev.cinch.bag;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.LeaseAuditor;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.audit.VerifySummary;
import dev.cinch.bag.fs.CorruptCacheFs;
import dev.cinch.bag.fs.DelegatedFs;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Fault;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.fs.FaultyFs.Op;
import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.fs.FuseFs;
import dev.cinch.bag.fs.NegativeFs;
import dev.cinch.bag.fs.SharedFs;
import dev.cinch.bag.fs.StaleListFs;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.read.Segments;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.store.CountingKeys;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Altered;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.TrustedKeys;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Rules N1 to N6; each test is named after its rule. */
class FsRulesTest {
  private final Rig rig = rig();
  private final Ledger ledger = new Ledger();

  private static Rig rig() {
    try {
      return Rig.memory(17);
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

  private Path file(Receipt receipt) throws IOException {
    var c = assertInstanceOf(Receipt.Committed.class, receipt);
    return LogLayout.dataFile(alice().context().layout().bucket(c.bucket()), c.file()).path();
  }

  @Test
  void n1_onlyThePackageForTheFilesystemTouchesFiles() throws IOException {
    Path sources = Path.of("src/main/java/dev/cinch/bag");
    Pattern elsewhere =
        Pattern.compile("nio\\.file\\.Files\\b|FileChannel|RandomAccessFile|java\\.io\\.File\\w*;");
    Pattern nowhere =
        Pattern.compile(
            "Files\\.move|ATOMIC_MOVE|renameTo|MapMode|tryLock\\(\\)|FileLock|\\.lock\\(0");
    Path s3 = sources.resolve("storage/object/s3"); // credentials are in no store
    Set<Path> usersFiles = Set.of(s3.resolve("Profile.java"), s3.resolve("Metadata.java"));
    int seen = 0;
    try (Stream<Path> all = Files.walk(sources)) {
      for (Path source : all.filter(p -> p.toString().endsWith(".java")).toList()) {
        String text = Files.readString(source);
        assertFalse(nowhere.matcher(text).find(), source + " renames, maps or locks");
        if (!source.startsWith(sources.resolve("fs")) && !usersFiles.contains(source)) {
          assertFalse(elsewhere.matcher(text).find(), source + " goes past StoreFs");
        }
        seen++;
      }
    }
    assertTrue(seen > 40);
  }

  @Test
  void n1_attributesAreReadRightAfterAnOpenOrTheMakingOfTheSameName() throws Exception {
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    LogWriter writer = rig.open(fs).writer(Durability.CLOSE);
    ledger.append(writer, "one");
    ledger.append(writer, "two");
    rig.settle(rig.open(fs));
    List<Op> trace = fs.trace();
    int seen = 0;
    for (int i = 0; i < trace.size(); i++) {
      if (trace.get(i).kind() == Kind.STATUS) {
        Path path = trace.get(i).path();
        List<Op> before = trace.subList(Math.max(0, i - 3), i);
        assertTrue(
            before.stream()
                .anyMatch(
                    op ->
                        op.path().equals(path)
                            && List.of(Kind.READ, Kind.READ_UNCACHED, Kind.CREATE, Kind.MKDIR)
                                .contains(op.kind())),
            "attributes of " + path + " after " + before);
        seen++;
      }
    }
    assertTrue(seen > 5);
  }

  @Test
  void n2_aCloserListsPastItsCache() throws Exception {
    Log closer = rig.open(new StaleListFs(rig.disk.view(Rig.BOB)));
    for (int i = 0; i < 3; i++) {
      ledger.append(alice().writer(Durability.SYNC), "a" + i);
      rig.settle(closer); // fills its cache with every directory on the way
      ledger.append(alice().writer(Durability.SYNC), "b" + i);
      rig.settle(bob());
    }
    rig.settle(closer);
    ledger.check(Ledger.settled(bob()));
  }

  @Test
  void n2_anEntryOfOnesOwnIsMadeThoughTheRequestSentTwiceSaysThatItExists() throws Exception {
    var repeats = new FaultyFs(rig.disk.view(Rig.BOB));
    repeats.after(
        op -> {
          if (op.kind() == Kind.CREATE) {
            throw new FileAlreadyExistsException("" + op.path());
          }
        });
    Path logs = bob().context().store().layout().logs().path();
    assertEquals(List.of(Rig.JOBS.value()), new Fresh(repeats).list(logs));
  }

  @Test
  void n2_aBucketIsListedPastTheCacheAfterItsPrelockIsSet() throws Exception {
    var stale = new StaleListFs(rig.disk.view(Rig.BOB));
    Log closer = rig.open(stale);
    LogWriter a = alice().writer(Durability.SYNC);
    Path one = file(ledger.append(a, "one"));
    assertEquals(2, stale.list(one.resolveSibling("")).size());
    ledger.append(alice().writer(Durability.SYNC), "two");
    rig.settle(closer);
    ledger.check(Ledger.settled(bob()));
  }

  @Test
  void n2_aWriterLooksAtIntentsAndRecordsPastItsCache() throws Exception {
    var stale = new StaleListFs(rig.disk.view(Rig.ALICE));
    var fs = new FaultyFs(stale);
    Log log = rig.open(fs);
    LogWriter writer = log.writer(Durability.SYNC);
    ledger.append(writer, "one"); // and now they are in the cache
    rig.settle(bob());
    rig.time.advanceMs(1_000);
    fs.beforeFirst(
        op -> op.kind() == Kind.MKDIR && op.path().toString().contains("buckets"),
        () -> rig.settle(bob()));
    assertInstanceOf(Receipt.Rejected.class, ledger.append(writer, "late"));
    ledger.check(Ledger.settled(bob()));
  }

  @Test
  void n3_aMissingNameIsBelievedOnlyAfterItsParentWasListed() throws Exception {
    ledger.append(alice().writer(Durability.SYNC), "one");
    rig.settle(alice());
    ledger.append(alice().writer(Durability.SYNC), "two");
    var negative = new NegativeFs(rig.disk.view(Rig.BOB));
    Log log = rig.open(negative);
    LogLayout layout = log.context().layout();
    negative.forget(layout.record(1).path());
    long width = log.context().bucketWidth();
    for (var b : log.horizon().chain().read(1).record().buckets()) {
      Path bucket = layout.bucket(new dev.cinch.bag.model.Bucket(b.start(), width)).path();
      negative.forget(LogLayout.lock(Name.of(bucket)).path());
      rig.disk.view(0).list(bucket).forEach(name -> negative.forget(bucket.resolve(name)));
    }
    negative.forget(layout.record(1).path());
    assertEquals(1, Ledger.settled(log).size());
    rig.settle(log);
    ledger.check(Ledger.settled(log));
  }

  /** A bucket, its group, its era: what is below a directory that is thought missing is, too. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2})
  void n3_aMissingDirectoryIsBelievedOnlyAfterThoseAboveItWereListed(int above) throws Exception {
    Path file = file(ledger.append(alice().writer(Durability.SYNC), "one"));
    rig.settle(alice());
    Path directory = parent(file);
    for (int i = 0; i < above; i++) {
      directory = parent(directory);
    }
    var negative = new NegativeFs(rig.disk.view(Rig.BOB));
    Log log = rig.open(negative);
    negative.forget(directory);
    assertEquals(1, Ledger.settled(log).size());
    negative.forget(directory);
    ledger.append(log.writer(Durability.SYNC), "two");
    negative.forget(directory);
    assertEquals(2, Ledger.live(log).size());
    negative.forget(directory);
    rig.settle(log);
    ledger.check(Ledger.settled(log));
  }

  /** The name, its directory, and the one above: nothing else changes in any of them. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2})
  void n3_aNoIsNotBelievedAfterAListingAlone(int above) throws Exception {
    ledger.append(alice().writer(Durability.SYNC), "one");
    rig.settle(alice());
    var coarse = new NegativeFs(rig.disk.view(Rig.BOB), true);
    Log log = rig.open(coarse);
    Path thoughtMissing = log.context().layout().record(1).path();
    for (int i = 0; i < above; i++) {
      thoughtMissing = parent(thoughtMissing);
    }
    coarse.forget(thoughtMissing);
    assertTrue(
        PosixStore.of(log.context().store().storage())
            .fresh()
            .exists(log.context().layout().record(1).path()));
    coarse.forget(thoughtMissing);
    ledger.check(Ledger.settled(log));
  }

  /** A full disk, say: reading goes on by the listing. */
  @Test
  void n3_whereNoEntryCanBeMadeTheListingMustDo() throws Exception {
    ledger.append(alice().writer(Durability.SYNC), "one");
    rig.settle(alice());
    var negative = new NegativeFs(rig.disk.view(Rig.BOB));
    var full = new FaultyFs(negative);
    Log log = rig.open(full);
    negative.forget(log.context().layout().record(1).path());
    full.before(
        op -> {
          if (op.kind() == Kind.CREATE) {
            throw new FileSystemException(op.path().toString(), null, "No space left on device");
          }
        });
    assertTrue(
        PosixStore.of(log.context().store().storage())
            .fresh()
            .exists(log.context().layout().record(1).path()));
  }

  @Test
  void n3_whatIsNotKnownToBeAStoreIsNotWrittenTo() throws Exception {
    Path empty = rig.root.resolveSibling("empty");
    rig.disk.view(0).mkdir(empty, 0777);
    var fs = new FaultyFs(new SharedFs(rig.disk.view(Rig.BOB)));
    assertThrows(NotAStoreException.class, () -> Store.open(empty, rig.environment(fs, rig.time)));
    assertTrue(fs.trace().stream().noneMatch(op -> op.kind() == Kind.CREATE));
  }

  @Test
  void n3_aDirectoryBelowOneThatIsThoughtMissingIsListed() throws Exception {
    Path file = file(ledger.append(alice().writer(Durability.SYNC), "one"));
    Path bucket = parent(file);
    var negative = new NegativeFs(rig.disk.view(Rig.BOB));
    negative.forget(parent(parent(bucket)));
    List<String> names = new Fresh(negative).list(bucket);
    assertTrue(names.contains(String.valueOf(file.getFileName())), names.toString());
  }

  @Test
  void n3_whoMayNotListWhatIsAboveIsToldThatItIsMissing() throws Exception {
    Path closed = rig.root.resolve("closed");
    rig.disk.view(0).mkdir(closed, 0710);
    var fresh = new Fresh(rig.disk.view(Rig.BOB));
    Path absent = closed.resolve("absent");
    assertThrows(NoSuchFileException.class, () -> fresh.read(absent.resolve("file")));
    assertThrows(NoSuchFileException.class, () -> fresh.list(absent));
  }

  private static Path parent(Path path) {
    return requireNonNull(path.getParent());
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void n3_aNewLogIsFoundThoughItsDirectoryWasMissing(boolean staleListing) throws Exception {
    var name = new LogName("more");
    StoreFs bob = rig.disk.view(Rig.BOB);
    var negative = new NegativeFs(staleListing ? new StaleListFs(bob) : bob);
    Store store = Store.open(rig.root, rig.environment(negative, rig.time));
    assertThrows(NoSuchLogException.class, () -> store.log(name));
    Store other = Store.open(rig.root, rig.environment(rig.disk.view(Rig.ALICE), rig.time));
    assertEquals(other.createLog(name).id(), store.log(name).id());
  }

  /** Of seed 24553699: somebody on this machine looked into the log before it was made. */
  @ParameterizedTest
  @ValueSource(strings = {"horizon", "horizon/records", "horizon/checkpoints", "segments"})
  void n3_whatANewLogHasIsFoundThoughItWasMissing(String directory) throws Exception {
    ledger.append(alice().writer(Durability.SYNC), "one");
    rig.settle(alice());
    var negative = new NegativeFs(rig.disk.view(Rig.BOB));
    Store store = Store.open(rig.root, rig.environment(negative, rig.time));
    Log log = rig.open(negative);
    Path missing = log.context().layout().root().resolve(directory).path();
    negative.forget(missing);
    assertTrue(log.horizon().chain().knownTip().isPresent());
    negative.forget(missing);
    assertTrue(new Segments(log.context()).last(false).isEmpty());
    negative.forget(missing);
    assertEquals(1, LeaseAuditor.audit(store).messages());
    negative.forget(missing);
    var found = new ArrayList<Finding>();
    var environment = rig.environment(negative, rig.time);
    VerifySummary verified = StoreVerifier.verify(rig.root, environment, found::add);
    assertEquals(List.of(), found);
    assertEquals(1, verified.records());
  }

  @Test
  void n3_aWrongNoForThePrelockOnlyLeadsToStep5() throws Exception {
    var negative = new NegativeFs(rig.disk.view(Rig.ALICE));
    var fs = new FaultyFs(negative);
    Log log = rig.open(fs);
    LogWriter writer = log.writer(Durability.SYNC);
    Path file = file(ledger.append(writer, "one"));
    fs.beforeFirst(
        op -> op.is(Kind.READ_UNCACHED, "prelock"),
        () -> negative.forget(file.resolveSibling("prelock")));
    assertInstanceOf(Receipt.Committed.class, ledger.append(writer, "two"));
    assertTrue(fs.trace().stream().anyMatch(op -> op.is(Kind.LINK, "lock")));
    ledger.check(Ledger.settled(bob()));
  }

  @Test
  void n6_aDelegationDoesNotAnswerTheLookAtThePrelock() throws Exception {
    var delegated = new DelegatedFs(rig.disk.view(Rig.ALICE));
    var fs = new FaultyFs(delegated);
    LogWriter writer = rig.open(fs).writer(Durability.SYNC);
    Path file = file(ledger.append(writer, "one"));
    delegated.read(file.resolveSibling("prelock")).close();
    fs.beforeFirst(op -> op.is(Kind.WRITE, ".log"), () -> rig.settle(bob()));
    assertInstanceOf(Receipt.Rejected.class, ledger.append(writer, "two"));
    ledger.check(Ledger.settled(bob()));
  }

  /** FUSE asks the server for nothing past the end that it believes in. */
  @Test
  void n6_anOldLookAtThePrelockConfirmsNothing() throws Exception {
    var fs = new FaultyFs(new FuseFs(rig.disk.view(Rig.ALICE), ManualTime.ticking()));
    LogWriter writer = rig.open(fs).writer(Durability.SYNC);
    ledger.append(writer, "one");
    fs.beforeFirst(op -> op.is(Kind.WRITE, ".log"), () -> rig.settle(bob()));
    assertInstanceOf(Receipt.Rejected.class, ledger.append(writer, "two"));
    ledger.check(Ledger.settled(bob()));
  }

  /** A slow first batch; another process of the closer's machine looks at the file before it. */
  @Test
  void n6_aFileThatLooksEmptyIsLookedAtAgain() throws Exception {
    var fuse = new FuseFs(rig.disk.view(Rig.BOB), rig.time);
    Log closer = rig.open(fuse);
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    LogWriter writer = rig.open(fs).writer(Durability.SYNC);
    fs.before(
        op -> {
          if (op.is(Kind.WRITE, ".log")) {
            StoreSettings settings = closer.context().store().settings();
            rig.time.advanceNanos(2 * closer.context().bucketWidth() + settings.graceNanos());
            assertEquals(0, fuse.status(op.path()).size());
          }
        });
    assertInstanceOf(Receipt.Committed.class, ledger.append(writer, "one"));
    closer.horizon().advance(closer.horizon().reachable(), OptionalLong.empty());
    ledger.check(Ledger.settled(bob()));
  }

  /** The same for who has just taken a lease, and reads what the holder before it wrote. */
  @Test
  void n6_aFileThatLooksEmptyIsReadAgainLive() throws Exception {
    var fuse = new FuseFs(rig.disk.view(Rig.BOB), rig.time);
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    fs.before(
        op -> {
          if (op.is(Kind.WRITE, ".log")) {
            assertEquals(0, fuse.status(op.path()).size());
          }
        });
    ledger.append(rig.open(fs).writer(Durability.SYNC), "one");
    assertEquals(List.of("one"), Ledger.live(rig.open(fuse)));
  }

  @Test
  void n6_aDelegationDoesNotAnswerHowLongAFileIs() throws Exception {
    LogWriter writer = alice().writer(Durability.SYNC);
    Path file = file(ledger.append(writer, "one"));
    var delegated = new DelegatedFs(rig.disk.view(Rig.BOB));
    delegated.read(file).close(); // and now it has one
    Log closer = rig.open(delegated);
    assertEquals(List.of("one"), Ledger.live(closer));
    ledger.append(writer, "two");
    assertEquals(List.of("one", "two"), Ledger.live(closer));
    rig.settle(closer);
    ledger.check(Ledger.settled(bob()));
  }

  /** A client with a delegation may keep what it closed, and lose it with the delegation. */
  @ParameterizedTest
  @ValueSource(ints = {10, 20_000})
  void n6_whatIsCommittedIsAtTheServerAndNotOnlyClosed(int length) throws Exception {
    LogWriter writer = rig.open(new DelegatedFs(rig.disk.view(Rig.ALICE))).writer(Durability.CLOSE);
    ledger.append(writer, "one", Ledger.payload("one", length));
    ledger.append(writer, "two", Ledger.payload("two", length));
    rig.settle(bob());
    ledger.check(Ledger.settled(bob()));
  }

  /** The change time of its own file can be an old one, or of its own making. */
  @Test
  void n6_whoConfirmsLateAsksForTheTimeOfADirectoryMadeAfterTheWrite() throws Exception {
    StoreSettings d = StoreSettings.DEFAULT;
    var settings = Altered.with(d, "confirm", StoreSettings.Confirm.LATE);
    Rig late = Rig.memory(21, settings);
    var fs = new FaultyFs(new DelegatedFs(late.disk.view(Rig.ALICE)));
    LogWriter writer = late.open(fs).writer(Durability.SYNC);
    ledger.append(writer, "one");
    int before = fs.trace().size();
    late.time.advanceMs(200);
    assertInstanceOf(Receipt.Committed.class, ledger.append(writer, "two"));
    List<Op> ops = fs.trace().subList(before, fs.trace().size());
    int written = ops.indexOf(new Op(Kind.WRITE, ops.get(0).path()));
    Path clock = late.root.resolve("clock");
    assertTrue(written >= 0, ops.toString());
    assertTrue(
        ops.subList(written, ops.size()).stream()
            .anyMatch(op -> op.kind() == Kind.MKDIR && op.path().startsWith(clock)),
        ops.toString());
    assertFalse(ops.stream().anyMatch(op -> op.is(Kind.STATUS, ".log")), ops.toString());
    assertFalse(ops.stream().anyMatch(op -> op.is(Kind.READ_UNCACHED, "prelock")), ops.toString());
  }

  @Test
  void n4_aFullDiskHasADefiniteOutcomeAtEveryByte() throws Exception {
    for (int space = 0; space < 700; space += 13) {
      Rig full = Rig.memory(space);
      var told = new Ledger();
      LogWriter writer = full.open(full.disk.view(Rig.ALICE)).writer(Durability.SYNC);
      told.append(writer, "before", Ledger.payload("before", 100));
      full.disk.setSpace(space);
      var fs = new FaultyFs(full.disk.view(Rig.ALICE));
      LogWriter other = full.open(fs).writer(Durability.SYNC);
      // Room again at the third try.
      var writes = new AtomicInteger();
      fs.before(
          op -> {
            if (op.is(Kind.WRITE, ".log") && writes.incrementAndGet() == 3) {
              full.disk.setSpace(Long.MAX_VALUE);
            }
          });
      Receipt receipt = told.append(other, "full", Ledger.payload("full", 300));
      assertInstanceOf(Receipt.Committed.class, receipt);
      full.disk.setSpace(Long.MAX_VALUE);
      Log closer = full.open(full.disk.view(Rig.BOB));
      full.settle(closer);
      told.check(Ledger.settled(closer));
    }
  }

  @Test
  void n4_anInterruptNeitherLosesTheVerdictNorItself() throws Exception {
    var fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    LogWriter writer = rig.open(fs).writer(Durability.SYNC);
    fs.arm(1, Fault.ERROR_PARTIAL, op -> op.is(Kind.WRITE, ".log"));
    Thread.currentThread().interrupt();
    assertInstanceOf(Receipt.Rejected.class, ledger.append(writer, "interrupted"));
    assertTrue(Thread.interrupted());
    rig.settle(bob());
    ledger.check(Ledger.settled(bob()));
  }

  @ParameterizedTest
  @ValueSource(strings = {"lock", "0000000001", ".log"})
  void n5_whatReadsWrongFromTheCacheIsReadAgainPastItByReaders(String name) throws Exception {
    LogWriter writer = alice().writer(Durability.SYNC);
    ledger.append(writer, "one");
    ledger.append(writer, "two", Ledger.payload("two", 40_000));
    ledger.append(writer, "three");
    rig.settle(bob());
    for (long from : List.of(0L, 200L, 39_000L)) {
      var corrupt =
          new CorruptCacheFs(
              rig.disk.view(Rig.BOB), p -> p.getFileName().toString().endsWith(name), from);
      ledger.check(Ledger.settled(rig.open(corrupt)));
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 300, 20_000})
  void n5_whatReadsWrongFromTheCacheIsReadAgainPastItByClosers(long from) throws Exception {
    LogWriter writer = alice().writer(Durability.SYNC);
    ledger.append(writer, "one");
    ledger.append(writer, "two", Ledger.payload("two", 40_000));
    ledger.append(writer, "three");
    var corrupt =
        new CorruptCacheFs(
            rig.disk.view(Rig.BOB), p -> p.getFileName().toString().endsWith(".log"), from);
    rig.settle(rig.open(corrupt));
    ledger.check(Ledger.settled(bob()));
  }

  @ParameterizedTest
  @ValueSource(strings = {"store.json", "identity"})
  void n5_whatReadsWrongFromTheCacheIsReadAgainPastItByWhoOpens(String name) throws Exception {
    ledger.append(alice().writer(Durability.SYNC), "one");
    rig.settle(bob());
    for (long from : List.of(0L, 100L)) {
      var corrupt = new CorruptCacheFs(rig.disk.view(Rig.BOB), p -> p.endsWith(name), from);
      ledger.check(Ledger.settled(rig.open(corrupt)));
    }
  }

  @Test
  void n5_whatReadsWrongFromTheCacheIsReadAgainPastItByVerify() throws Exception {
    assertEquals(1, TrustedKeyFiles.add(alice().context().store(), key()));
    ledger.append(alice().writer(Durability.SYNC), "one");
    rig.settle(bob());
    ledger.append(alice().writer(Durability.SYNC), "two");
    for (String name : List.of("store.json", "identity", "0000000001", "lock", ".log")) {
      var corrupt =
          new CorruptCacheFs(
              rig.disk.view(Rig.BOB), p -> p.getFileName().toString().endsWith(name), 0);
      assertEquals(List.of(), rig.damage(corrupt), name);
    }
  }

  @Test
  void n5_whatReadsWrongFromTheCacheIsReadAgainPastItByWhoNeedsTheKeys() throws Exception {
    assertEquals(1, TrustedKeyFiles.add(alice().context().store(), key()));
    var corrupt = new CorruptCacheFs(rig.disk.view(Rig.BOB), p -> p.endsWith("keys/0000000001"), 0);
    assertEquals(
        TrustedKeys.of(key().publicKey()),
        CountingKeys.ofStore(rig.open(corrupt).context().store()).now());
  }

  private static SigningKey key() {
    return SigningKey.ofSeed(new byte[32]);
  }
}
