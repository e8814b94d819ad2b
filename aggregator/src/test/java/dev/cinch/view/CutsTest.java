package dev.cinch.view;

import static dev.cinch.view.Retiring.open;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.backup.Backup;
import dev.cinch.backup.Restoration;
import dev.cinch.backup.RestoredLog;
import dev.cinch.bag.Closer;
import dev.cinch.bag.Cuts;
import dev.cinch.bag.Log;
import dev.cinch.bag.NoSuchCutException;
import dev.cinch.bag.NothingSettledException;
import dev.cinch.bag.Rig;
import dev.cinch.bag.Store;
import dev.cinch.bag.StoreCut;
import dev.cinch.bag.StoreCut.Part;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Fault;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.fs.FaultyFs.Op;
import dev.cinch.bag.fs.SharedFs;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.RemovedLogs;
import dev.cinch.bag.write.LogWriter;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Rule H11: numbered instants over logs. */
class CutsTest {
  private static final LogName PAY = new LogName("pay");
  private static final Path COPY = Path.of("/copy");
  private static final long MIN = Long.MIN_VALUE;

  private static StoreFs fs(Rig rig) {
    return rig.disk.view(Rig.ALICE);
  }

  private static Store store(Rig rig, StoreFs fs) throws IOException {
    return Store.open(rig.root, rig.environment(fs, rig.time));
  }

  private static Store store(Rig rig) throws IOException {
    return store(rig, fs(rig));
  }

  /** Two logs of which something is settled. */
  private static Rig two(long seed) throws Exception {
    Rig rig = Rig.memory(seed);
    Log unused = store(rig).createLog(PAY);
    write(rig, "a", Rig.JOBS, PAY);
    return rig;
  }

  /** A message to each, which is settled then. */
  private static void write(Rig rig, String text, LogName... logs) throws Exception {
    for (LogName name : logs) {
      Log log = store(rig).log(name);
      try (LogWriter writer = log.writer(Durability.SYNC)) {
        Lines.append(writer, text);
      }
    }
    for (LogName name : logs) {
      rig.settle(store(rig).log(name));
    }
    rig.disk.forceAll();
  }

  private static StoreCut take(Store store, LogName... logs) throws IOException {
    return new Cuts(store).take(store.whole(List.of(logs)));
  }

  private static StoreCut take(Rig rig) throws IOException {
    return take(store(rig), Rig.JOBS, PAY);
  }

  /** All that a cut gives, of those of its logs that are left. */
  private static List<String> read(Store store, long number) throws IOException {
    var cuts = new Cuts(store);
    StoreCut cut = cuts.find(number);
    var lines = new ArrayList<String>();
    for (Part part : cut.logs()) {
      Lines.settled(cuts.open(cut, part, MIN), MIN, cut.time())
          .forEach(line -> lines.add(part.name() + " " + line));
    }
    return lines;
  }

  private static List<Finding> damage(Rig rig, Path root) throws IOException {
    var found = new ArrayList<Finding>();
    StoreVerifier.verify(root, rig.environment(fs(rig), rig.time), found::add);
    found.removeIf(f -> f.severity() == Finding.Severity.NOTE);
    return found;
  }

  private static List<String> names(Store store) throws IOException {
    return store
        .context()
        .storage()
        .listIfThere(store.context().layout().cuts(), Freshness.CERTAIN);
  }

  private static boolean isLink(Op op) {
    return op.kind() == Kind.LINK && String.valueOf(op.path()).contains("/cuts/");
  }

  private static void gc(Rig rig) throws IOException {
    new Cuts(store(rig)).removeUnreadable(true, path -> {});
  }

  private static void remove(Rig rig, LogName name) throws Exception {
    Log log = store(rig).log(name);
    Link unused = log.horizon().end();
    var removal = new RemovedLogs(log.context().store()).bury(log.context());
    assertEquals(name.value(), removal.name());
  }

  @Test
  void h11_aCutGivesTheSameWhateverComesBehindIt() throws Exception {
    Rig rig = two(1);
    write(rig, "b", PAY); // which is settled further than the other
    StoreCut cut = take(rig);
    List<String> then = read(store(rig), 1);
    assertEquals(2, then.size());
    assertEquals(List.of(Rig.JOBS, PAY), cut.logs().stream().map(Part::name).toList());
    assertEquals(
        cut.time(), store(rig).log(Rig.JOBS).reader().settledThrough(), "of the one behind");
    Part further = cut.logs().get(1);
    Link record = store(rig).log(PAY).horizon().chain().read(further.record());
    assertTrue(record.record().settles(cut.time() - 1));
    assertEquals(record.digest(), further.digest());
    write(rig, "c", Rig.JOBS, PAY);
    assertEquals(then, read(store(rig), 1));
    Retiring.aggregate(rig);
    new Retention(open(rig), Duration.ZERO).run();
    assertEquals(then, read(store(rig), 1), "also where its records were retired");
    StoreCut next = take(rig);
    assertEquals(2, next.number());
    assertTrue(next.time() > cut.time());
    assertEquals(List.of(), damage(rig, rig.root));
    // A third log says nothing, unless it is named; then nothing of it is settled yet.
    LogName none = new LogName("none");
    Log unused = store(rig).createLog(none);
    assertEquals(3, take(rig).number());
    assertThrows(NothingSettledException.class, () -> take(store(rig), Rig.JOBS, none));
    assertEquals(List.of(1L, 2L, 3L), new Cuts(store(rig)).numbers());
  }

  /** Where all up to the time was retired, it names the record at the line. */
  @Test
  void h11_aRecordThatWasRetiredIsNotNamed() throws Exception {
    Rig rig = two(2);
    for (int i = 0; i < 4; i++) {
      write(rig, "b" + i, Rig.JOBS); // the other one stays behind
    }
    Retiring.aggregate(rig);
    new Retention(open(rig), Duration.ZERO).run();
    StoreCut cut = take(rig);
    Link record = open(rig).horizon().chain().readKept(cut.logs().get(0).record());
    assertTrue(record.record().to() > cut.time());
    assertEquals(2, read(store(rig), 1).size());
    assertEquals(List.of(), damage(rig, rig.root));
  }

  /** Before each operation of one that takes a cut a further line is drawn. */
  @Test
  void h11_norIsOneThatIsRetiredMeanwhile() throws Exception {
    boolean fired = true;
    for (int k = 1; fired; k++) {
      Rig rig = two(4);
      write(rig, "b", Rig.JOBS);
      retire(rig);
      write(rig, "c", Rig.JOBS);
      var faulty = new FaultyFs(fs(rig));
      int[] left = {k};
      faulty.before(
          op -> {
            if (--left[0] == 0) {
              retire(rig);
            }
          });
      StoreCut cut = take(store(rig, faulty), Rig.JOBS, PAY);
      assertEquals(2, read(store(rig), cut.number()).size(), "before operation " + k);
      fired = left[0] <= 0;
    }
  }

  private static void retire(Rig rig) throws IOException {
    Retiring.aggregate(rig);
    Retention.Plan unused = new Retention(open(rig), Duration.ZERO).run();
  }

  @Test
  void h11_ofTwoWhoRaceTheLoserGoesOnWithTheNextNumber() throws Exception {
    Rig rig = two(3);
    var faulty = new FaultyFs(fs(rig));
    faulty.beforeFirst(
        CutsTest::isLink,
        () -> {
          write(rig, "b", Rig.JOBS, PAY);
          assertEquals(1, take(rig).number());
        });
    StoreCut loser = take(store(rig, faulty), Rig.JOBS, PAY);
    assertEquals(2, loser.number());
    StoreCut winner = new Cuts(store(rig)).find(1);
    assertTrue(loser.time() >= winner.time(), "no cut is behind one of a lower number");
    assertEquals(4, read(store(rig), 1).size());
  }

  /**
   * Another cut is taken, of more than before, before each operation of one that is being taken.
   */
  @Test
  void h11_noCutIsBehindOneOfALowerNumber() throws Exception {
    boolean more = true;
    for (int k = 0; more; k++) {
      Rig rig = two(15);
      var faulty = new FaultyFs(fs(rig));
      Store store = store(rig, faulty);
      List<Log> logs = store.whole(List.of(Rig.JOBS, PAY));
      int[] left = {k};
      var others = new ArrayList<StoreCut>();
      faulty.before(
          op -> {
            if (left[0]-- == 0) {
              write(rig, "b", Rig.JOBS, PAY);
              others.add(take(rig));
            }
          });
      StoreCut mine = new Cuts(store).take(logs);
      more = !others.isEmpty();
      for (StoreCut other : others) {
        assertNotEquals(other.number(), mine.number());
        assertTrue(
            other.number() > mine.number() || other.time() <= mine.time(), other + " and " + mine);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(Fault.class)
  void h11_whoStopsAnywhereLeavesNothingThatStopsOthers(Fault fault) throws Exception {
    Rig rig = two(4);
    var numbers = new HashSet<Long>();
    boolean more = true;
    for (int k = 1; more; k++) {
      var faulty = new FaultyFs(fs(rig));
      Store store = store(rig, faulty);
      List<Log> logs = store.whole(List.of(Rig.JOBS, PAY));
      faulty.arm(k, fault, op -> String.valueOf(op.path()).contains("/cuts"));
      try {
        assertTrue(numbers.add(new Cuts(store).take(logs).number()));
      } catch (FaultyFs.Crash | IOException e) {
        assertTrue(faulty.fired());
      }
      more = faulty.fired();
      assertTrue(numbers.add(take(rig).number()));
      for (long number : new Cuts(store(rig)).numbers()) {
        assertEquals(2, read(store(rig), number).size());
      }
    }
    assertEquals(List.of(), damage(rig, rig.root));
    rig.time.advanceNanos(Duration.ofHours(25).toNanos());
    gc(rig);
    assertTrue(names(store(rig)).stream().noneMatch(Name::isTemporary));
  }

  /** A number that was given, and is gone, is linked once more by who slept. */
  @Test
  void h11_noNumberIsUsedTwice() throws Exception {
    Rig rig = two(5);
    var faulty = new FaultyFs(fs(rig));
    Set<Long> before = new HashSet<>();
    faulty.beforeFirst(
        CutsTest::isLink,
        () -> {
          for (int i = 0; i < 3; i++) {
            before.add(take(store(rig), PAY).number());
          }
          remove(rig, PAY);
          gc(rig);
        });
    Store slept = store(rig, faulty);
    StoreCut mine = new Cuts(slept).take(List.of(slept.log(Rig.JOBS)));
    assertEquals(Set.of(1L, 2L, 3L), before);
    assertEquals(4, mine.number());
    assertEquals(1, read(store(rig), 4).size());
    assertTrue(names(store(rig)).contains("0000000001"), "it was linked");
    assertThrows(NoSuchCutException.class, () -> new Cuts(store(rig)).find(1));
    assertEquals(List.of(3L, 4L), new Cuts(store(rig)).numbers());
    gc(rig);
    assertEquals(
        List.of("0000000004", "gone-0000000001-0000000002", "gone-0000000001-0000000003"),
        names(store(rig)));
    rig.time.advanceNanos(Duration.ofHours(25).toNanos());
    gc(rig);
    assertEquals(List.of("0000000004", "gone-0000000001-0000000003"), names(store(rig)));
    assertEquals(List.of(), damage(rig, rig.root));
  }

  /**
   * Whoever removes cuts ends at any step, and the server loses power then, or some steps later.
   */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void h11_noNumberComesBackAfterAPowerCut(boolean another) throws Exception {
    boolean more = true;
    for (int k = 1; more; k++) {
      for (int seed = 0; seed < 16; seed++) {
        Rig rig = two(16);
        var faulty = new FaultyFs(fs(rig));
        var gc = new FaultyFs(fs(rig));
        var given = new HashSet<Long>();
        int step = k;
        var random = new Random(seed);
        faulty.beforeFirst(
            CutsTest::isLink,
            () -> {
              for (int i = 0; i < 3; i++) {
                given.add(take(store(rig), PAY).number());
              }
              remove(rig, PAY);
              rig.disk.forceAll();
              Store store = store(rig, gc);
              gc.arm(step, Fault.CRASH_AFTER, op -> op.path().toString().contains("/cuts"));
              try {
                new Cuts(store).removeUnreadable(true, path -> {});
              } catch (FaultyFs.Crash e) {
                assertTrue(gc.fired());
              }
              if (another) {
                gc(rig);
              }
              rig.disk.powerCut(random::nextBoolean);
            });
        Store slept = store(rig, faulty);
        assertTrue(given.add(new Cuts(slept).take(List.of(slept.log(Rig.JOBS))).number()));
        more = gc.fired();
      }
    }
  }

  /** A closer ends before its record is durable, and the server loses power. */
  @Test
  void h11_aCutsRecordIsDurable() throws Exception {
    Rig rig = two(17);
    for (LogName name : List.of(Rig.JOBS, PAY)) {
      try (LogWriter writer = store(rig).log(name).writer(Durability.SYNC)) {
        Lines.append(writer, "b");
      }
    }
    rig.disk.forceAll();
    for (LogName name : List.of(Rig.JOBS, PAY)) {
      var closer = new FaultyFs(fs(rig));
      Log log = store(rig, closer).log(name);
      closer.arm(
          1,
          Fault.CRASH_AFTER,
          op -> op.kind() == Kind.LINK && op.path().toString().contains("horizon/records"));
      assertThrows(FaultyFs.Crash.class, () -> rig.settle(log));
    }
    StoreCut cut = take(rig);
    rig.disk.powerCut(); // before anybody reads it, who would make them durable too
    assertEquals(4, read(store(rig), cut.number()).size());
  }

  @Test
  void h11_whatExpiredSinceIsTold() throws Exception {
    Rig rig = two(6);
    for (int i = 0; i < 3; i++) {
      write(rig, "b" + i, Rig.JOBS, PAY);
    }
    StoreCut first = take(rig);
    for (int i = 0; i < 3; i++) {
      write(rig, "c" + i, Rig.JOBS, PAY);
    }
    StoreCut second = take(rig);
    List<String> then = read(store(rig), 2);
    var limits = new Aggregator.Limits(1, Long.MAX_VALUE);
    assertTrue(new Aggregator(open(rig), limits).run().published() > 4);
    new Retention(open(rig), Duration.ZERO).run();
    assertEquals(then, read(store(rig), 2));
    // All but the last segment, which reaches no further than the second cut.
    long floor = new Expiry(open(rig), Duration.ZERO).run(path -> {}).before();
    assertTrue(first.time() < floor && floor < second.time());
    var cuts = new Cuts(store(rig));
    Part jobs = second.logs().get(0);
    assertThrows(NoSuchCutException.class, () -> cuts.open(second, jobs, MIN));
    assertThrows(NoSuchCutException.class, () -> cuts.open(second, jobs, floor - 1));
    assertEquals(1, Lines.settled(cuts.open(second, jobs, floor), floor, second.time()).size());
    NoSuchCutException all =
        assertThrows(NoSuchCutException.class, () -> cuts.open(first, first.logs().get(0), MIN));
    assertTrue(("" + all.getMessage()).contains("all that log \"jobs\" had"));
    Log unused = cuts.open(first, first.logs().get(1), MIN); // nothing of it expired
    // A later one knows that it is gone.
    assertEquals(3, take(rig).number());
    assertEquals(1 + 7, read(store(rig), 3).size());
    gc(rig);
    assertEquals(List.of(1L, 2L, 3L), cuts.numbers(), "the other log has it all");
    remove(rig, PAY);
    gc(rig);
    assertEquals(List.of(2L, 3L), cuts.numbers());
    assertEquals(4, take(store(rig), Rig.JOBS).number());
    assertEquals(List.of(), damage(rig, rig.root));
  }

  /** A read that had given nothing yet begins at the floor, and tells nobody. */
  @Test
  void h11_whatExpiredUnderAReadIsToldBehindIt() throws Exception {
    Rig rig = two(12);
    write(rig, "b", Rig.JOBS, PAY);
    StoreCut cut = take(rig);
    write(rig, "c", Rig.JOBS, PAY);
    var limits = new Aggregator.Limits(1, Long.MAX_VALUE);
    assertTrue(new Aggregator(open(rig), limits).run().published() > 1);
    new Retention(open(rig), Duration.ZERO).run();
    var cuts = new Cuts(store(rig));
    Part jobs = cut.logs().get(0);
    Log log = cuts.open(cut, jobs, MIN);
    assertTrue(new Expiry(open(rig), Duration.ZERO).run(path -> {}).moves());
    assertTrue(Lines.settled(log, MIN, cut.time()).size() < 2);
    assertThrows(NoSuchCutException.class, () -> cuts.open(cut, jobs, MIN));
  }

  @Test
  void h11_theHighestStaysAlthoughNobodyCanReadIt() throws Exception {
    Rig rig = two(7);
    assertEquals(1, take(store(rig), PAY).number());
    remove(rig, PAY);
    gc(rig);
    assertEquals(List.of(1L), new Cuts(store(rig)).numbers());
    assertEquals(2, take(store(rig), Rig.JOBS).number());
    gc(rig);
    assertEquals(List.of(2L), new Cuts(store(rig)).numbers());
    assertThrows(NoSuchCutException.class, () -> read(store(rig), 1));
  }

  /** A mount that is gone says nothing of what was there. */
  @Test
  void h11_whatCannotBeReadNowStays() throws Exception {
    Rig rig = two(14);
    assertEquals(1, take(store(rig), PAY).number());
    assertEquals(2, take(rig).number());
    for (String place : List.of("/logs/pay", "/logs/pay/horizon")) {
      var fs = new FaultyFs(fs(rig));
      Store store = store(rig, fs);
      fs.before(
          op -> {
            if (op.path().toString().contains(place)) {
              throw new NoSuchFileException(op.path().toString());
            }
          });
      var cuts = new Cuts(store);
      cuts.removeUnreadable(true, path -> {});
      cuts.removeAhead(path -> {});
      assertEquals(List.of(1L, 2L), cuts.numbers(), place);
    }
  }

  @Test
  void h11_aBackupHasTheCutsThatItsLogsReach() throws Exception {
    Rig rig = two(8);
    StoreCut unused = take(rig);
    StoreCut pay = take(store(rig), PAY);
    List<String> then = read(store(rig), 1);
    assertEquals(List.of(), backup(rig, fs(rig)));
    write(rig, "b", Rig.JOBS, PAY);
    assertEquals(3, take(rig).number());
    Store copy = Store.open(COPY, rig.environment(fs(rig), rig.time));
    assertEquals(List.of(1L, 2L), new Cuts(copy).numbers());
    assertEquals(then, read(copy, 1));
    assertEquals(List.of(), damage(rig, COPY));
    // The next one has what was taken since, also while it looks at the logs, or not.
    var faulty = new FaultyFs(fs(rig));
    faulty.beforeFirst(
        op -> op.kind() == Kind.LINK && String.valueOf(op.path()).contains("horizon/records"),
        () -> {
          write(rig, "c", Rig.JOBS, PAY);
          assertEquals(4, take(rig).number());
        });
    assertEquals(List.of(), backup(rig, faulty));
    for (long number : new Cuts(copy).numbers()) {
      assertFalse(read(copy, number).isEmpty());
    }
    assertEquals(List.of(), damage(rig, COPY));
    remove(rig, PAY);
    gc(rig);
    assertEquals(List.of(), backup(rig, fs(rig)));
    assertFalse(new Cuts(copy).numbers().contains(pay.number()), "what gc removed is gone there");
    assertEquals(names(store(rig)), names(copy));
    var done = Restoration.restore(COPY, rig.environment(fs(rig), rig.time));
    assertEquals(Set.of(Rig.JOBS), done.keySet());
    Store restored = Store.open(COPY, rig.environment(fs(rig), rig.time));
    StoreCut kept = new Cuts(restored).find(4);
    Log jobs = new Cuts(restored).open(kept, kept.logs().get(0), MIN);
    assertEquals(3, Lines.settled(jobs, MIN, kept.time()).size());
    assertEquals(5, take(restored, Rig.JOBS).number());
    assertEquals(List.of(), damage(rig, COPY));
  }

  private static List<Backup.Problem> backup(Rig rig, StoreFs fs) throws Exception {
    return new Backup(store(rig), fs, COPY, files -> {}).run().problems();
  }

  /** As in a copy that another tool made, without the last record. */
  @Test
  void h11_aCutThatACopyDoesNotReachIsTold() throws Exception {
    Rig rig = two(9);
    StoreCut reached = take(rig);
    write(rig, "b", Rig.JOBS, PAY);
    StoreCut ahead = take(rig);
    Part jobs = ahead.logs().get(0);
    Log log = open(rig);
    fs(rig).unlink(log.context().layout().record(jobs.record()).path());
    fs(rig).unlink(log.context().layout().recordSeal(jobs.record(), jobs.digest()).path());
    var cuts = new Cuts(store(rig));
    NoSuchCutException e =
        assertThrows(NoSuchCutException.class, () -> cuts.open(ahead, jobs, MIN));
    assertTrue(("" + e.getMessage()).contains("is not settled that far"));
    assertNotEquals(List.of(), damage(rig, rig.root));
    // It goes on otherwise.
    var unused = new RestoredLog(open(rig)).mend();
    var closer = new Closer(store(rig), List.of(Rig.JOBS), null, new Closer.Listener() {});
    closer.settleRestored();
    closer.await(OptionalLong.empty(), false);
    write(rig, "other", Rig.JOBS);
    write(rig, "more", Rig.JOBS);
    e = assertThrows(NoSuchCutException.class, () -> cuts.open(ahead, jobs, MIN));
    assertTrue(("" + e.getMessage()).contains("has another record"));
    var gone = new ArrayList<Name>();
    cuts.removeAhead(gone::add);
    assertEquals(List.of(store(rig).context().layout().cut(2)), gone);
    assertThrows(NoSuchCutException.class, () -> cuts.find(2));
    assertEquals(List.of(), cuts.find(3).logs(), "its number is taken, and no more");
    assertEquals(4, take(rig).number());
    Log same = cuts.open(reached, reached.logs().get(0), MIN);
    assertEquals(1, Lines.settled(same, MIN, reached.time()).size());
    gc(rig);
    assertEquals(List.of(1L, 4L), cuts.numbers());
    assertEquals(List.of(), damage(rig, rig.root));
  }

  /** The directory was made a moment ago, and this client believes that there is none (N3). */
  @Test
  void h11_whoMayOnlyReadWaitsForCaches() throws Exception {
    Rig rig = two(13);
    StoreCut cut = take(rig);
    var fs = new FaultyFs(new SharedFs(rig.disk.view(Rig.BOB)));
    long expired = rig.time.monotonicNanos() + 30_000_000_000L;
    fs.before(
        op -> {
          if (op.kind() == Kind.CREATE) {
            throw new AccessDeniedException(op.path().toString());
          }
          if (op.path().endsWith("cuts") && rig.time.monotonicNanos() < expired) {
            throw new NoSuchFileException(op.path().toString());
          }
        });
    assertEquals(cut, new Cuts(store(rig, fs)).find(1));
    assertTrue(rig.time.monotonicNanos() >= expired);
    var cuts = new Cuts(store(rig, fs));
    var lines = new ArrayList<String>();
    for (Part part : cut.logs()) {
      Log log = cuts.open(cut, part, MIN);
      long unused =
          log.reader()
              .settled(MIN, cut.time(), m -> lines.add(Lines.line(m)), (m, file, why) -> {});
    }
    assertEquals(2, lines.size());
    assertThrows(NoSuchCutException.class, () -> cuts.find(2));
  }

  @Test
  void h11_anOldStoreHasNone() throws Exception {
    Rig rig = two(10);
    var cuts = new Cuts(store(rig));
    gc(rig);
    assertEquals(List.of(), cuts.numbers());
    assertEquals(OptionalLong.empty(), cuts.last());
    assertThrows(NoSuchCutException.class, () -> cuts.find(1));
    assertEquals(List.of(), names(store(rig)));
    assertFalse(fs(rig).list(rig.root).contains("cuts"));
  }

  @Test
  void aDamagedCutIsTold() throws Exception {
    Rig rig = two(11);
    StoreCut cut = take(rig);
    Path path = store(rig).context().layout().cut(1).path();
    fs(rig).unlink(path);
    fs(rig).link(store(rig).context().layout().settings().path(), path);
    var cuts = new Cuts(store(rig));
    DamagedException e = assertThrows(DamagedException.class, () -> cuts.find(1));
    assertEquals(path, e.path().path());
    assertEquals(1, damage(rig, rig.root).size());
    gc(rig);
    assertEquals(List.of(1L), cuts.numbers(), "nobody knows what it was");
    assertEquals(cut.number() + 1, take(rig).number());
  }
}
