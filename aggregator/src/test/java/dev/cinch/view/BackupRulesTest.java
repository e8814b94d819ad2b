package dev.cinch.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.backup.Backup;
import dev.cinch.backup.BackupRefusedException;
import dev.cinch.backup.Restoration;
import dev.cinch.bag.Log;
import dev.cinch.bag.NoSuchLogException;
import dev.cinch.bag.NotAStoreException;
import dev.cinch.bag.Rig;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Fault;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.storage.StoreReplacedException;
import dev.cinch.bag.store.RemovedLogs;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Share;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Rule H10: a backup is whole through a time, whenever it was made and wherever it stopped. */
class BackupRulesTest {
  private static final Path COPY = Path.of("/copy");

  /** What happened since the backup before. */
  private enum Since {
    /** There was none. */
    NONE {
      @Override
      void happens(Rig rig) throws Exception {
        retire(rig, 2);
        Lines.write(rig, 4, 5);
      }
    },
    WRITES {
      @Override
      void happens(Rig rig) throws Exception {
        Lines.write(rig, 5, 5);
        Lines.write(rig, 4, 30_000);
      }
    },
    SEGMENTS {
      @Override
      void happens(Rig rig) throws Exception {
        Lines.write(rig, 4, 5);
        Retiring.aggregate(rig);
      }
    },
    /** Records that the backup has not were retired. */
    RETIRED {
      @Override
      void happens(Rig rig) throws Exception {
        Lines.write(rig, 4, 5);
        retire(rig, 2);
        Lines.write(rig, 5, 5);
      }
    },
    /** Segments that the backup has not expired. */
    EXPIRED {
      @Override
      void happens(Rig rig) throws Exception {
        RETIRED.happens(rig);
        retire(rig, 1);
        assertTrue(new Expiry(open(rig, rig.root), Duration.ZERO).run(path -> {}).moves());
      }
    };

    abstract void happens(Rig rig) throws Exception;

    private static void retire(Rig rig, int records) throws Exception {
      for (int i = 0; i < records; i++) {
        Lines.write(rig, 4, 5);
      }
      Retiring.aggregate(rig);
      assertTrue(new Retention(open(rig, rig.root), Duration.ZERO).run().publishes());
      rig.disk.forceAll();
    }
  }

  private static Store.Environment here(Rig rig, StoreFs fs) {
    return rig.environment(fs, rig.time);
  }

  private static StoreFs fs(Rig rig) {
    return rig.disk.view(Rig.ALICE);
  }

  private static Store store(Rig rig, Path root) throws IOException {
    return Store.open(root, here(rig, fs(rig)));
  }

  private static Log open(Rig rig, Path root) throws IOException {
    return store(rig, root).log(Rig.JOBS);
  }

  private static Backup.Result backup(Rig rig, StoreFs fs) throws Exception {
    Backup.Result done = new Backup(store(rig, rig.root), fs, COPY, files -> {}).run();
    assertEquals(List.of(), done.problems());
    return done;
  }

  private static List<String> damage(Rig rig, Path root) throws IOException {
    var found = new ArrayList<String>();
    StoreVerifier.verify(
        root,
        here(rig, fs(rig)),
        f -> {
          if (f.severity() != Finding.Severity.NOTE) {
            found.add(f.toString());
          }
        });
    return found;
  }

  private static Receipt append(Log log, String text) throws Exception {
    try (LogWriter writer = log.writer(Durability.SYNC)) {
      return writer.append(text.getBytes(StandardCharsets.UTF_8));
    }
  }

  /** Two that are settled, and a backup of them, unless it is to be the first. */
  private static Rig rig(Since since) throws Exception {
    Rig rig = Retiring.rig(since.ordinal() + 1, 2);
    if (since == Since.EXPIRED) {
      Retiring.aggregate(rig);
      assertTrue(new Retention(open(rig, rig.root), Duration.ZERO).run().publishes());
    }
    if (since != Since.NONE) {
      Backup.Result unused = backup(rig, fs(rig));
    }
    return rig;
  }

  @ParameterizedTest
  @EnumSource(Since.class)
  void h10_hasAllThatWasSettledThroughItsInstantAndNothingElse(Since since) throws Exception {
    Rig rig = rig(since);
    since.happens(rig);
    assertInstanceOf(Receipt.Committed.class, append(open(rig, rig.root), "not settled"));
    Backup.Result done = backup(rig, fs(rig));
    List<String> lines = Lines.settled(open(rig, rig.root));
    assertEquals(lines, Lines.settled(open(rig, COPY)));
    assertEquals(List.of(), damage(rig, COPY));
    assertEquals(open(rig, rig.root).reader().settledThrough(), done.instant().orElseThrow());
    var live = new ArrayList<String>();
    open(rig, COPY)
        .reader()
        .live(Lines.MIN, Lines.MAX, m -> live.add(Lines.line(m)), (m, f, w) -> {});
    assertEquals(lines, live);
    assertEquals(0, backup(rig, fs(rig)).files(), "nothing is new");
  }

  /** Stops at each operation; the next run goes on, or what is there is restored. */
  @ParameterizedTest
  @Tag("share")
  @EnumSource(Since.class)
  void h10_stopsAnywhere(Since since) throws Exception {
    for (Fault fault : List.of(Fault.CRASH_AFTER, Fault.CRASH_PARTIAL, Fault.ERROR_AFTER)) {
      int k = 1 + Share.first(3);
      while (stopped(since, fault, k, true) && stopped(since, fault, k, false)) {
        k += Share.step(3);
      }
      assertTrue(k > 10, "no operations");
    }
  }

  private static boolean stopped(Since since, Fault fault, int k, boolean again) throws Exception {
    Rig rig = rig(since);
    List<String> before = since == Since.NONE ? List.of() : Lines.settled(open(rig, COPY));
    since.happens(rig);
    List<String> now = Lines.settled(open(rig, rig.root));
    var faulty = new FaultyFs(fs(rig));
    faulty.arm(k, fault);
    boolean told = false;
    try {
      told = !new Backup(store(rig, rig.root), faulty, COPY, n -> {}).run().problems().isEmpty();
    } catch (FaultyFs.Crash | IOException e) {
      assertTrue(faulty.fired());
    }
    rig.disk.powerCut();
    String at = since + " " + fault + " " + k;
    boolean whole = faulty.fired() && fs(rig).list(Path.of("/")).contains("copy");
    if (!again && whole && fs(rig).list(COPY).contains(StoreLayout.SETTINGS)) {
      if (since == Since.WRITES || since == Since.SEGMENTS) {
        assertEquals(List.of(), damage(rig, COPY), at); // where nothing is retired, at each one
      }
      Object unused = Restoration.restore(COPY, here(rig, fs(rig)));
      assertEquals(List.of(), damage(rig, COPY), at);
      if (told && since == Since.NONE) {
        assertThrows(NoSuchLogException.class, () -> open(rig, COPY), at);
        return faulty.fired();
      }
      Log copy = open(rig, COPY);
      List<String> there = Lines.settled(copy);
      boolean isPrefix = there.size() <= now.size() && there.equals(now.subList(0, there.size()));
      assertTrue(
          there.equals(before)
              || isPrefix && (since == Since.EXPIRED || there.size() >= before.size()),
          at + there);
      assertInstanceOf(Receipt.Committed.class, append(copy, "goes on"));
      rig.settle(copy);
      assertEquals(there.size() + 1, Lines.settled(copy).size());
      assertEquals(List.of(), damage(rig, COPY), at);
    } else if (!again && whole) {
      assertThrows(NotAStoreException.class, () -> store(rig, COPY), at);
    } else {
      Backup.Result unused = backup(rig, fs(rig));
      assertEquals(now, Lines.settled(open(rig, COPY)), at);
      assertEquals(List.of(), damage(rig, COPY), at);
    }
    return faulty.fired();
  }

  /** Rule L3: no ceiling of a copy is below what its messages were written under. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void h10_ceilingsAreCopiedAfterTheLastRecordWasReadAndBeforeTheCopyHasIt(boolean retired)
      throws Exception {
    Rig rig = rig(Since.WRITES);
    Since.WRITES.happens(rig);
    var fs = new FaultyFs(fs(rig));
    var layout = new StoreLayout(rig.root);
    Path records = layout.log(Rig.JOBS).records().path();
    if (retired) { // all up to the record that was read
      fs.beforeFirst(
          op -> op.kind() == Kind.LIST && op.path().equals(layout.ceilings().path()),
          () -> Since.RETIRED.happens(rig));
    }
    Object unused = new Backup(Store.open(rig.root, here(rig, fs)), fs, COPY, n -> {}).run();
    List<FaultyFs.Op> trace = fs.trace();
    Path copied = new StoreLayout(COPY).log(Rig.JOBS).records().path();
    int end = 0;
    while (!(trace.get(end).kind() == Kind.LINK && trace.get(end).path().startsWith(copied))) {
      end++;
    }
    int read = end;
    while (!(trace.get(read).kind() == Kind.LIST && trace.get(read).path().startsWith(records))) {
      read--;
    }
    assertTrue(
        trace.subList(read, end).stream()
            .anyMatch(op -> op.kind() == Kind.LIST && op.path().equals(layout.ceilings().path())));
  }

  /** An instance of a lease server, which has published a ceiling. */
  private static StoreInstances service(Rig rig) throws IOException {
    StoreContext context = store(rig, rig.root).context();
    SigningKey key = SigningKey.ofSeed(new byte[32]);
    long unused = TrustedKeyFiles.add(context, key);
    var service = new StoreInstances(context, key);
    unused = service.takeNumber();
    assertTrue(service.publishCeiling(100));
    return service;
  }

  /**
   * As where the process was stopped for a while between its look at their names and at them.
   *
   * @param stale whether it has the file open, which NFS tells as an error of its own
   */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void h10_ceilingsThatMoveOnWhileTheyAreCopiedAreCopied(boolean stale) throws Exception {
    Rig rig = rig(Since.WRITES);
    Since.WRITES.happens(rig);
    StoreInstances service = service(rig);
    var fs = new FaultyFs(fs(rig));
    Path ceilings = new StoreLayout(rig.root).ceilings().path();
    fs.beforeFirst(
        op -> op.kind() == Kind.READ_UNCACHED && ceilings.equals(op.path().getParent()),
        () -> {
          for (long ceiling = 101; ceiling <= 104; ceiling++) {
            assertTrue(service.publishCeiling(ceiling));
          }
          if (stale) {
            throw new IOException("Stale file handle");
          }
        });
    Path records = new StoreLayout(COPY).log(Rig.JOBS).records().path();
    fs.arm(1, Fault.CRASH_AFTER, op -> op.kind() == Kind.LINK && op.path().startsWith(records));
    assertThrows(
        FaultyFs.Crash.class,
        () -> new Backup(Store.open(rig.root, here(rig, fs)), fs, COPY, n -> {}).run());
    assertTrue(
        fs(rig).list(new StoreLayout(COPY).ceilings().path()).stream()
            .anyMatch(name -> name.startsWith("0000000001-104.")));
  }

  /** Before one operation after the other, of a first backup too. */
  @ParameterizedTest
  @Tag("share")
  @EnumSource(
      value = Since.class,
      names = {"NONE", "RETIRED", "EXPIRED"})
  void h10_othersRetireAndLetExpireMeanwhile(Since since) throws Exception {
    for (Since others : List.of(Since.RETIRED, Since.EXPIRED)) {
      int k = 1 + Share.first(41);
      while (meanwhile(since, others, k)) {
        k += Share.step(41);
      }
      assertTrue(k > 10, "no operations");
    }
  }

  private static boolean meanwhile(Since since, Since others, int k) throws Exception {
    Rig rig = rig(since);
    since.happens(rig);
    var fs = new FaultyFs(fs(rig));
    var left = new AtomicInteger(k);
    fs.beforeFirst(op -> left.decrementAndGet() == 0, () -> others.happens(rig));
    Backup.Result done = new Backup(Store.open(rig.root, here(rig, fs)), fs, COPY, n -> {}).run();
    String at = since + " " + others + " " + k;
    assertEquals(List.of(), done.problems(), at);
    assertEquals(List.of(), damage(rig, COPY), at);
    List<String> copy = Lines.settled(open(rig, COPY));
    // Some of it may have expired since.
    List<String> there =
        Lines.settled(open(rig, rig.root), Lines.MIN, done.instant().orElseThrow());
    assertEquals(there, copy.subList(copy.size() - there.size(), copy.size()), at);
    return left.get() <= 0;
  }

  @Test
  void h10_restoringStopsAnywhere() throws Exception {
    boolean fired = true;
    for (int k = 1; fired; k++) {
      Rig rig = rig(Since.RETIRED);
      List<String> before = Lines.settled(open(rig, COPY));
      Since.RETIRED.happens(rig);
      var killed = new FaultyFs(fs(rig));
      killed.before(
          op -> {
            if (op.is(Kind.CREATE, "floor-")
                || op.path().toString().contains("/checkpoints/tmp-")) {
              throw new IOException("killed");
            }
          });
      Object unused = new Backup(store(rig, rig.root), killed, COPY, files -> {}).run();
      var faulty = new FaultyFs(fs(rig));
      faulty.arm(k, Fault.CRASH_AFTER);
      try {
        unused = Restoration.restore(COPY, here(rig, faulty));
      } catch (FaultyFs.Crash e) {
        rig.disk.powerCut();
      }
      fired = faulty.fired();
      try {
        unused = Restoration.restore(COPY, here(rig, fs(rig)));
      } catch (BackupRefusedException e) {
        assertTrue(("" + e.getMessage()).contains("is no backup"), e.getMessage()); // it was done
      }
      assertEquals(before, Lines.settled(open(rig, COPY)));
      assertEquals(List.of(), damage(rig, COPY));
      assertInstanceOf(Receipt.Committed.class, append(open(rig, COPY), "goes on"));
    }
  }

  @Test
  void h10_nobodyWritesToABackup() throws Exception {
    Rig rig = rig(Since.WRITES);
    assertThrows(StoreReplacedException.class, () -> rig.settle(open(rig, COPY)));
    assertThrows(
        StoreReplacedException.class, () -> store(rig, COPY).createLog(new LogName("other")));
    assertInstanceOf(Receipt.Rejected.class, append(open(rig, COPY), "no"));
    assertEquals(List.of(), damage(rig, COPY));
  }

  @Test
  void h10_anotherStoreAndAnotherHistoryAreRefused() throws Exception {
    Rig rig = rig(Since.WRITES);
    Path other = Path.of("/other");
    Store made = Store.init(other, StoreSettings.DEFAULT, here(rig, fs(rig)));
    assertThrows(
        BackupRefusedException.class, () -> new Backup(made, fs(rig), COPY, n -> {}).run());
    assertThrows(
        BackupRefusedException.class,
        () -> new Backup(store(rig, rig.root), fs(rig), other, n -> {}).run());
    // The store is put back to what it was, and goes on otherwise.
    Since.WRITES.happens(rig);
    Backup.Result unused = backup(rig, fs(rig));
    Log log = open(rig, rig.root);
    for (long number = 3; number <= 4; number++) {
      for (Path file : Retiring.files(log, log.context().layout().recordGroup(0).path())) {
        if (String.valueOf(file.getFileName()).startsWith("000000000" + number)) {
          fs(rig).unlink(file);
        }
      }
    }
    assertThrows(BackupRefusedException.class, () -> backup(rig, fs(rig)));
    Object restored = Restoration.restore(COPY, here(rig, fs(rig)));
    assertThrows(BackupRefusedException.class, () -> backup(rig, fs(rig)));
  }

  private static void refused(Rig rig, Path from, Path to, String why) {
    var e =
        assertThrows(
            BackupRefusedException.class,
            () -> new Backup(store(rig, from), fs(rig), to, n -> {}).run());
    assertTrue(String.valueOf(e.getMessage()).contains(why), e.getMessage());
  }

  private static void killed(Rig rig, Kind kind, Path at) {
    var fs = new FaultyFs(fs(rig));
    fs.arm(1, Fault.CRASH_AFTER, op -> op.kind() == kind && op.path().equals(at));
    assertThrows(FaultyFs.Crash.class, () -> Restoration.restore(COPY, here(rig, fs)));
  }

  @Test
  void h10_whatIsNoBackupOfTheStoreIsRefused() throws Exception {
    Rig rig = rig(Since.WRITES);
    Path taken = Path.of("/taken");
    fs(rig).mkdir(taken, 0755);
    fs(rig).create(taken.resolve("notes.txt"), 0644).close();
    refused(rig, rig.root, taken, "holds other files (notes.txt)");
    refused(rig, COPY, Path.of("/new"), "is a backup itself");
    var copy = new StoreLayout(COPY);
    killed(rig, Kind.LINK, copy.nextSettings().path());
    refused(rig, rig.root, COPY, "was not restored to the end");
    killed(rig, Kind.UNLINK, copy.settings().path());
    refused(rig, rig.root, COPY, "or was not restored to the end");
    Object unused = Restoration.restore(COPY, here(rig, fs(rig)));
    refused(rig, rig.root, COPY, "is a store, or a backup that was restored");
  }

  @Test
  void h10_anotherRecordAnotherCheckpointAndAnotherLogAreRefused() throws Exception {
    Rig rig = rig(Since.WRITES);
    Path record = new StoreLayout(COPY).log(Rig.JOBS).record(2).path();
    alter(rig, record);
    refused(rig, rig.root, COPY, record + " is another one in the store");
    Rig other = rig(Since.WRITES);
    Path identity = new StoreLayout(COPY).log(Rig.JOBS).identity().path();
    alter(other, identity);
    refused(other, other.root, COPY, identity + " is another one in the store");
    Rig retired = rig(Since.EXPIRED);
    LogLayout log = new StoreLayout(COPY).log(Rig.JOBS);
    Checkpoint c = open(retired, COPY).horizon().chain().checkpoint().orElseThrow();
    var covered = new ArrayList<>(c.segments());
    covered.set(
        0, new Checkpoint.Covered(c.digest(), covered.get(0).messages(), covered.get(0).bytes()));
    var altered = new Checkpoint(c.log(), c.number(), c.to(), c.digest(), c.segment(), covered);
    retired.disk.put(log.checkpoint(c.number()).path(), 0, altered.encode());
    Since.RETIRED.happens(retired);
    refused(retired, retired.root, COPY, "names other segments than the store's");
  }

  /** Between its looks at the floor and at the checkpoint, too. */
  @Test
  void h10_othersRetireAndLetExpireWhatItHas() throws Exception {
    boolean fired = true;
    for (int k = 1; fired; k++) {
      Rig rig = rig(Since.WRITES);
      for (int i = 0; i < 2; i++) {
        Lines.write(rig, 4, 5);
        Retiring.aggregate(rig);
      }
      Backup.Result done = backup(rig, fs(rig));
      Path checkpoints = new StoreLayout(rig.root).log(Rig.JOBS).checkpoints().path();
      var fs = new FaultyFs(fs(rig));
      var left = new AtomicInteger(k);
      fs.beforeFirst(
          op ->
              op.kind() == Kind.LIST
                  && op.path().equals(checkpoints)
                  && left.decrementAndGet() == 0,
          () -> {
            assertTrue(new Retention(open(rig, rig.root), Duration.ZERO).run().publishes());
            assertTrue(new Expiry(open(rig, rig.root), Duration.ZERO).run(path -> {}).moves());
          });
      done = new Backup(Store.open(rig.root, here(rig, fs)), fs, COPY, n -> {}).run();
      assertEquals(List.of(), done.problems(), "look " + k);
      assertEquals(List.of(), damage(rig, COPY), "look " + k);
      Object unused = Restoration.restore(COPY, here(rig, fs(rig)));
      assertEquals(List.of(), damage(rig, COPY), "look " + k);
      fired = left.get() <= 0;
    }
  }

  private static void alter(Rig rig, Path file) throws IOException {
    byte[] bytes = rig.disk.content(file);
    rig.disk.put(file, bytes.length / 2, new byte[] {(byte) ~bytes[bytes.length / 2]});
  }

  /** Nobody may close the store meanwhile. */
  @Test
  void h10_whatIsDueIsSettled() throws Exception {
    Rig rig = rig(Since.WRITES);
    assertInstanceOf(Receipt.Committed.class, append(open(rig, rig.root), "due"));
    int settled = Lines.settled(open(rig, rig.root)).size();
    rig.time.advanceMs(600_000);
    Backup.Result unused = backup(rig, fs(rig));
    assertEquals(settled + 1, Lines.settled(open(rig, COPY)).size());
  }

  /** Rules L3 and L19. */
  @Test
  void h10_aCeilingStaysUntilThereIsALaterOneAndLastWordsAreNotCopied() throws Exception {
    Rig rig = rig(Since.WRITES);
    StoreInstances service = service(rig);
    Path ceilings = new StoreLayout(rig.root).ceilings().path();
    String words = "0000000001+5-" + "ab".repeat(32) + ".cd";
    fs(rig).create(ceilings.resolve(words), 0644).close();
    Backup.Result first = backup(rig, fs(rig));
    List<String> copied = fs(rig).list(new StoreLayout(COPY).ceilings().path());
    assertEquals(1, copied.size(), copied.toString());
    fs(rig).unlink(ceilings.resolve(copied.get(0)));
    assertTrue(first.files() > 0);
    first = backup(rig, fs(rig));
    assertEquals(copied, fs(rig).list(new StoreLayout(COPY).ceilings().path()));
    assertTrue(service.publishCeiling(101));
    first = backup(rig, fs(rig));
    assertEquals(1, fs(rig).list(new StoreLayout(COPY).ceilings().path()).size());
    // And one of an earlier instance, once a later one covers it.
    StoreInstances lower = next(rig);
    assertTrue(lower.publishCeiling(99));
    fs(rig).list(ceilings).stream()
        .filter(name -> name.startsWith("0000000001-"))
        .forEach(name -> remove(rig, ceilings.resolve(name)));
    first = backup(rig, fs(rig));
    assertEquals(2, fs(rig).list(new StoreLayout(COPY).ceilings().path()).size());
    assertTrue(lower.publishCeiling(101));
    first = backup(rig, fs(rig));
    assertEquals(
        List.of("0000000002-101.", "0000000002-99."),
        fs(rig).list(new StoreLayout(COPY).ceilings().path()).stream()
            .map(name -> name.substring(0, name.indexOf('.') + 1))
            .sorted()
            .toList());
  }

  private static StoreInstances next(Rig rig) throws IOException {
    var next = new StoreInstances(store(rig, rig.root).context(), SigningKey.ofSeed(new byte[32]));
    long unused = next.takeNumber();
    return next;
  }

  private static void remove(Rig rig, Path file) {
    try {
      fs(rig).unlink(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** What is open is not copied, and data files are nowhere. */
  @Test
  void h10_ofASettledBucketItsLockIsCopied() throws Exception {
    Rig rig = rig(Since.WRITES);
    Log log = open(rig, rig.root);
    assertInstanceOf(Receipt.Committed.class, append(log, "open"));
    Object unused = backup(rig, fs(rig));
    Log copy = open(rig, COPY);
    List<Path> files = Retiring.files(copy, copy.context().layout().buckets().path());
    assertEquals(
        Set.of("lock", "prelock"),
        files.stream().map(f -> f.getFileName().toString()).collect(Collectors.toSet()));
    assertEquals(Lines.settled(log), Lines.settled(copy));
    assertEquals(Lines.settled(log), live(copy));
  }

  private static List<String> live(Log log) throws IOException {
    var live = new ArrayList<String>();
    log.reader().live(Lines.MIN, Lines.MAX, m -> live.add(Lines.line(m)), (m, f, w) -> {});
    return live;
  }

  @Test
  void h10_whatIsCopiedIsChecked() throws Exception {
    for (String directory : List.of("buckets", "segments", "records")) {
      Rig rig = rig(Since.NONE);
      Retiring.aggregate(rig);
      Log log = open(rig, rig.root);
      Path broken =
          Retiring.files(log, log.context().layout().root().path()).stream()
              .filter(f -> f.toString().contains("/" + directory + "/"))
              .filter(f -> f.toString().matches(".*(/lock|/[0-9]{10})"))
              .findFirst()
              .orElseThrow();
      byte[] bytes = rig.disk.content(broken);
      rig.disk.put(broken, bytes.length / 2, new byte[] {(byte) ~bytes[bytes.length / 2]});
      assertEquals(
          1,
          new Backup(store(rig, rig.root), fs(rig), COPY, n -> {}).run().problems().size(),
          directory);
      assertThrows(NoSuchLogException.class, () -> open(rig, COPY)); // half of one is none
    }
  }

  @Test
  void h8_ofALogThatWasRemovedTheTombstoneIsCopied() throws Exception {
    Rig rig = rig(Since.WRITES);
    Log log = open(rig, rig.root);
    Object unused = log.horizon().end();
    unused = new RemovedLogs(log.context().store()).bury(log.context());
    unused = backup(rig, fs(rig));
    assertThrows(dev.cinch.bag.LogRemovedException.class, () -> open(rig, COPY));
    Path identity = new StoreLayout(COPY).log(Rig.JOBS).identity().path();
    assertThrows(NoSuchFileException.class, () -> fs(rig).status(identity));
    assertEquals(List.of(), damage(rig, COPY));
    assertEquals(0, backup(rig, fs(rig)).files());
  }
}
