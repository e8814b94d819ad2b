package dev.cinch.view;

import static dev.cinch.view.Retiring.HOUR;
import static dev.cinch.view.Retiring.aggregate;
import static dev.cinch.view.Retiring.files;
import static dev.cinch.view.Retiring.open;
import static dev.cinch.view.Retiring.rig;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Fault;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.fs.OldListingFs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.model.TimeName;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Share;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Readers, closers and sleepers whose buckets and records go while they are at work: rules R1 to
 * R3, H4. What waits for ever fails: a broken rule must not look like a slow machine.
 */
@Timeout(value = 1, unit = TimeUnit.HOURS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RetiredUnderwayTest {
  private static void advance(Log log, long to) throws IOException {
    try {
      log.horizon().advance(to, OptionalLong.empty());
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static void settle(Rig rig, Log log) throws IOException {
    try {
      rig.settle(log);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void readersSeeTheSameBeforeAndAfter() throws Exception {
    Rig rig = rig(6, 4);
    Log log = open(rig);
    aggregate(rig);
    rig.time.advanceMs(7_200_000);
    Lines.write(rig, 6, 5);
    var times = new ArrayList<Long>();
    log.reader()
        .settled(Lines.MIN, Lines.MAX, true, m -> times.add(m.timestamp()), (m, f, w) -> {});
    List<String> before = Lines.settled(log);
    List<String> part = Lines.settled(log, times.get(3), times.get(22));
    assertEquals(4, new Retention(log, HOUR).run().buckets());
    assertEquals(before, Lines.settled(log));
    assertEquals(part, Lines.settled(log, times.get(3), times.get(22)));
    var live = new ArrayList<String>();
    log.reader().live(Lines.MIN, Lines.MAX, m -> live.add(Lines.line(m)), (m, f, w) -> {});
    assertEquals(before, live);
  }

  @Test
  void aReaderUnderWhoseHandsBucketsGoReadsTheSame() throws Exception {
    for (int at = 0; at < 15; at++) {
      Rig rig = rig(7, 3);
      aggregate(rig);
      rig.time.advanceMs(7_200_000);
      Log log = open(rig);
      List<String> expected = Lines.settled(log);
      var seen = new ArrayList<String>();
      int when = at;
      log.reader()
          .settled(
              Lines.MIN,
              Lines.MAX,
              true,
              m -> {
                if (seen.size() == when) {
                  assertEquals(3, new Retention(open(rig), HOUR).run().buckets());
                }
                return seen.add(Lines.line(m));
              },
              (m, f, w) -> {});
      assertEquals(expected, seen);
    }
  }

  /** Who linked a record below a checkpoint has settled nothing by it, and goes on above. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true}) // whether its temporary file was swept, too
  void r2_aSleeperThatLinkedARetiredRecordSettlesWhatIsLeft(boolean swept) throws Exception {
    Rig rig = rig(15, 2);
    Log log = open(rig);
    long width = log.context().bucketWidth();
    long tip = new HorizonChain(log.context()).freshTip().orElseThrow().record().to();
    rig.time.advanceMs(60_000);
    var faulty = new FaultyFs(rig.disk.view(Rig.BOB));
    Log sleeper = rig.open(faulty);
    boolean[] slept = {false};
    faulty.before(
        op -> {
          if (!slept[0]
              && op.kind() == Kind.LINK
              && op.path().equals(sleeper.context().layout().record(3).path())) {
            slept[0] = true;
            advance(log, tip + width);
            advance(log, tip + 2 * width);
            aggregate(rig);
            assertEquals(3, new Retention(log, Duration.ZERO).run().records());
            if (swept) {
              throw new NoSuchFileException(op.path().toString());
            }
          }
        });
    advance(sleeper, tip + 5 * width);
    assertTrue(slept[0]);
    assertTrue(
        new HorizonChain(log.context()).freshTip().orElseThrow().record().to() >= tip + 5 * width);
  }

  /** On NFS an open file that another machine removes is a stale handle. */
  @Test
  void r2_aRecordRetiredUnderTheReaderIsNoError() throws Exception {
    Rig rig = rig(17, 2);
    Log log = open(rig);
    long width = log.context().bucketWidth();
    long tip = new HorizonChain(log.context()).freshTip().orElseThrow().record().to();
    rig.time.advanceMs(60_000);
    var faulty = new FaultyFs(rig.disk.view(Rig.BOB));
    Log slow = rig.open(faulty);
    faulty.beforeFirst(
        op -> op.kind() == Kind.GET && op.path().equals(slow.context().layout().record(3).path()),
        () -> {
          advance(log, tip + 2 * width);
          aggregate(rig);
          assertEquals(3, new Retention(log, Duration.ZERO).run().records());
          throw new FileSystemException("record", null, "Stale file handle");
        });
    advance(slow, tip + width);
    assertEquals(1, new HorizonChain(log.context()).checkpoint().stream().count());
  }

  /** All messages, whether they are settled or not. */
  private static List<String> live(Log log) throws IOException {
    var live = new ArrayList<String>();
    long unused =
        log.reader()
            .live(
                Lines.MIN,
                Lines.MAX,
                m -> live.add(Lines.line(m).replace(" false ", " true ")),
                (m, file, why) -> {});
    return live;
  }

  /** At each read of its data files everything is settled and retired, and the handle is stale. */
  @Test
  void h4_aLiveReadGoesOnFromSegmentsWhereABucketIsRetiredUnderIt() throws Exception {
    boolean fired = true;
    for (int k = 1; fired; k++) {
      Rig rig = rig(k, 1);
      Log log = open(rig);
      for (int i = 0; i < 4; i++) {
        Lines.append(log.writer(Durability.SYNC), i + "x".repeat(60_000));
        Lines.append(rig.open(rig.disk.view(Rig.ALICE)).writer(Durability.SYNC), "short " + i);
        rig.time.advanceMs(i == 1 ? 2_000 : 1);
      }
      var faulty = new FaultyFs(rig.disk.view(Rig.BOB));
      Log slow = rig.open(faulty);
      int[] left = {k};
      faulty.before(
          op -> {
            if (op.is(Kind.GET, ".log") && --left[0] == 0) {
              settle(rig, log);
              aggregate(rig);
              assertTrue(new Retention(log, Duration.ZERO).run().buckets() > 1);
              throw new FileSystemException("data", null, "Stale file handle");
            }
          });
      List<String> live = live(slow);
      fired = left[0] <= 0;
      assertEquals(fired ? Lines.settled(log) : 13, fired ? live : live.size(), "read " + k);
      assertTrue(fired || k > 8, "reads: " + k);
    }
  }

  /**
   * A writer who is late makes the directories of its bucket again, or the NFS client of one that
   * has its file open keeps them. They look like buckets without a message.
   */
  @Test
  @Tag("share")
  void h4_aLiveReadMissesNothingInBucketsThatWereEmptied() throws Exception {
    liveReads(
        (rig, directories) -> {
          for (Path directory : directories) {
            rig.disk.view(Rig.ALICE).mkdir(directory, 02775);
          }
        });
  }

  @Test
  @Tag("share")
  void h4_aLiveReadGoesOnWhereItsDirectoriesAreRemoved() throws Exception {
    int[] removed = {0};
    liveReads(
        (rig, directories) -> {
          rig.time.advanceMs(Duration.ofDays(400).toMillis());
          rig.settle(open(rig));
          aggregate(rig);
          long unused = new Retention(open(rig), Duration.ZERO).run().buckets();
          Path eras = open(rig).context().layout().buckets().path();
          boolean gone =
              rig.disk.view(Rig.ALICE).list(eras).stream()
                  .allMatch(name -> TimeName.parse(name).isEmpty());
          removed[0] += gone ? 1 : 0;
        });
    assertTrue(removed[0] > Share.of(40, 5), "removed: " + removed[0]);
  }

  private interface Aftermath {
    void of(Rig rig, List<Path> directories) throws Exception;
  }

  /** Before each operation of a live read everything is settled and retired. */
  private static void liveReads(Aftermath aftermath) throws Exception {
    boolean fired = true;
    int k = 0;
    while (fired) {
      k += Share.step(7);
      Rig rig = rig(k, 1);
      Log log = open(rig);
      for (int i = 0; i < 4; i++) {
        Lines.append(log.writer(Durability.SYNC), "of one " + i);
        Lines.append(open(rig).writer(Durability.SYNC), "of two " + i);
        rig.time.advanceMs(i == 1 ? 2_000 : 1);
      }
      List<Path> directories =
          files(log, log.context().layout().buckets().path()).stream()
              .map(Path::getParent)
              .distinct()
              .toList();
      assertEquals(3, directories.size());
      var faulty = new FaultyFs(rig.disk.view(Rig.BOB));
      Log slow = rig.open(faulty);
      int[] left = {k};
      faulty.before(
          op -> {
            if (--left[0] == 0) {
              settle(rig, log);
              aggregate(rig);
              assertEquals(3, new Retention(log, Duration.ZERO).run().buckets());
              try {
                aftermath.of(rig, directories);
              } catch (Exception e) {
                throw new AssertionError(e);
              }
            }
          });
      List<String> live = live(slow);
      fired = left[0] <= 0;
      assertEquals(fired ? Lines.settled(log) : 13, fired ? live : live.size(), "operation " + k);
    }
    assertTrue(k > 80, "operations: " + k);
  }

  @Test
  void r2_aRecordRetiredUnderASettledReadIsNoError() throws Exception {
    Rig rig = rig(18, 3);
    Log log = open(rig);
    List<String> expected = Lines.settled(log);
    rig.time.advanceMs(60_000);
    var faulty = new FaultyFs(rig.disk.view(Rig.BOB));
    Log slow = rig.open(faulty);
    faulty.beforeFirst(
        op -> op.kind() == Kind.GET && op.path().equals(slow.context().layout().record(2).path()),
        () -> {
          aggregate(rig);
          assertEquals(2, new Retention(log, Duration.ZERO).run().records());
          throw new FileSystemException("record", null, "Stale file handle");
        });
    assertEquals(expected, Lines.settled(slow));
    assertEquals(1, new HorizonChain(log.context()).checkpoint().stream().count());
  }

  /** What it listed was settled and retired while it slept: it need not wait for caches. */
  @Test
  void aCloserWhoseBucketIsRetiredGoesOn() throws Exception {
    Rig rig = rig(19, 1);
    Log log = open(rig);
    Lines.append(log.writer(Durability.SYNC), "more");
    long to = rig.time.wallNanos() + log.context().bucketWidth();
    rig.time.advanceMs(60_000);
    var faulty = new FaultyFs(rig.disk.view(Rig.BOB));
    Log slow = rig.open(faulty);
    faulty.beforeFirst(
        op -> op.is(Kind.READ, "lock") || op.is(Kind.OVERWRITE, "prelock"),
        () -> {
          advance(log, to);
          advance(log, to + log.context().bucketWidth());
          aggregate(rig);
          assertEquals(2, new Retention(log, Duration.ZERO).run().buckets());
        });
    long began = rig.time.monotonicNanos();
    advance(slow, to);
    assertTrue(rig.time.monotonicNanos() - began < 1_000_000_000L, "it waited");
    assertEquals(6, Lines.settled(log).size());
  }

  /** Between a reader's listing of the checkpoints and its opening of the last. */
  @Test
  void aCheckpointThatGoesUnderAReadersHandsIsNotMissed() throws Exception {
    Rig rig = rig(17, 2);
    aggregate(rig);
    rig.time.advanceMs(7_200_000);
    Log log = open(rig);
    assertEquals(2, new Retention(log, HOUR).run().buckets());
    List<String> expected = new ArrayList<>();
    var faulty = new FaultyFs(rig.disk.view(Rig.BOB));
    Log reader = rig.open(faulty);
    boolean[] done = {false};
    faulty.before(
        op -> {
          if (!done[0] && op.path().equals(log.context().layout().checkpoint(2).path())) {
            done[0] = true;
            try {
              Lines.write(rig, 5, 5);
            } catch (Exception e) {
              throw new AssertionError(e);
            }
            aggregate(rig);
            rig.time.advanceMs(7_200_000);
            assertEquals(1, new Retention(log, HOUR).run().buckets());
            rig.time.advanceMs(Duration.ofDays(2).toMillis());
            assertEquals(1, new Retention(log, HOUR).run().stale());
            expected.addAll(Lines.settled(log));
          }
        });
    List<String> seen = Lines.settled(reader);
    assertTrue(done[0]);
    assertEquals(15, expected.size());
    assertEquals(expected.subList(0, seen.size()), seen);
    assertTrue(seen.size() >= 10);
  }

  @Test
  void r2_aRecordThatASleeperLinksDoesNotCount() throws Exception {
    Rig rig = rig(9, 2);
    var faulty = new FaultyFs(rig.disk.view(Rig.BOB));
    Log sleeper = rig.open(faulty);
    LogLayout layout = sleeper.context().layout();
    var expected = new ArrayList<String>();
    boolean[] slept = {false};
    faulty.before(
        op -> {
          if (!slept[0] && op.kind() == Kind.LINK && op.path().equals(layout.record(3).path())) {
            slept[0] = true;
            try {
              Lines.write(rig, 5, 5);
              Lines.write(rig, 5, 5);
              expected.addAll(Lines.settled(open(rig)));
              aggregate(rig);
              rig.time.advanceMs(7_200_000);
              assertEquals(3, new Retention(open(rig), HOUR).run().records());
            } catch (Exception e) {
              throw new AssertionError(e);
            }
          }
        });
    rig.settle(sleeper);
    assertTrue(slept[0]);
    Log log = open(rig);
    // It did link a record of its own, of which nobody takes notice.
    assertTrue(files(log, layout.records().path()).contains(layout.record(3).path()));
    assertEquals(20, expected.size());
    assertEquals(expected, Lines.settled(log));
    assertEquals(4, new HorizonChain(log.context()).freshTip().orElseThrow().record().number());
    assertTrue(new HorizonChain(log.context()).readUnlessRetired(3).isEmpty());
    assertEquals(4, new HorizonChain(log.context()).checkpoint().orElseThrow().number());
    assertEquals(1, new Retention(log, HOUR).run().records());
    String digest = new HorizonChain(log.context()).freshTip().orElseThrow().digest();
    assertEquals(
        List.of(layout.record(4).path(), layout.recordSeal(4, digest).path()),
        files(log, layout.records().path()).stream().sorted().toList());
    rig.settle(log);
    assertEquals(5, new HorizonChain(log.context()).freshTip().orElseThrow().record().number());
  }

  @Test
  void r1_aLiveReadThatSleptThroughARetirementMissesNothing() throws Exception {
    Rig rig = rig(18, 1);
    Log log = open(rig);
    try (LogWriter writer = log.writer(Durability.SYNC)) {
      Lines.append(writer, "one");
      Lines.append(writer, "two");
    }
    var faulty = new FaultyFs(rig.disk.view(Rig.BOB));
    boolean[] slept = {false};
    faulty.beforeFirst(
        op -> op.is(Kind.LIST, "buckets"),
        () -> {
          slept[0] = true;
          rig.settle(log);
          aggregate(rig);
          rig.time.advanceMs(7_200_000);
          assertEquals(2, new Retention(log, HOUR).run().buckets());
        });
    var seen = new ArrayList<String>();
    rig.open(faulty)
        .reader()
        .live(Lines.MIN, Lines.MAX, m -> seen.add(Lines.line(m)), (m, file, why) -> {});
    assertTrue(slept[0]);
    assertEquals(Lines.settled(log), seen);
    assertEquals(7, seen.size());
  }

  @Test
  void h4_aReaderWhoseListingOfTheRecordsIsOldStartsFromTheCheckpoint() throws Exception {
    Rig rig = rig(15, 3);
    aggregate(rig);
    Log log = open(rig);
    List<String> expected = Lines.settled(log);
    LogLayout layout = log.context().layout();
    Path group = layout.recordGroup(0).path();
    List<String> records = PosixStore.of(log.context().store().storage()).fs().list(group);
    rig.time.advanceMs(7_200_000);
    assertEquals(2, new Retention(log, HOUR).run().records());
    var old =
        List.of(
            new OldListingFs(rig.disk.view(Rig.BOB), layout.records().path(), List.of()),
            new OldListingFs(rig.disk.view(Rig.BOB), group, List.of()),
            new OldListingFs(rig.disk.view(Rig.BOB), group, records.subList(0, 1)));
    for (OldListingFs fs : old) {
      Log reader = rig.open(fs);
      var live = new ArrayList<String>();
      long settled =
          reader
              .reader()
              .live(Lines.MIN, Lines.MAX, m -> live.add(Lines.line(m)), (m, file, why) -> {});
      assertEquals(expected, live);
      assertEquals(new HorizonChain(log.context()).checkpoint().orElseThrow().to(), settled);
    }
  }

  /** All there is so far, and after a long rest the directories that it stood in. */
  private static void retire(Rig rig, Log log) throws IOException {
    settle(rig, log);
    aggregate(rig);
    assertTrue(new Retention(log, Duration.ZERO).run().buckets() > 0);
    rig.time.advanceMs(Duration.ofDays(400).toMillis());
    settle(rig, log);
    aggregate(rig);
    long unused = new Retention(log, Duration.ZERO).run().buckets();
  }

  private interface Sleeper {
    void run(Log log, long to) throws IOException;
  }

  /** Before each operation of somebody who is at work. */
  private static void retiredAtEach(Sleeper sleeper) throws Exception {
    boolean fired = true;
    int k = 0;
    while (fired) {
      k += Share.step(3);
      Rig rig = rig(k, 1);
      Log log = open(rig);
      Lines.append(log.writer(Durability.SYNC), "more");
      long to = rig.time.wallNanos() + log.context().bucketWidth();
      rig.time.advanceMs(60_000);
      var faulty = new FaultyFs(rig.disk.view(Rig.BOB));
      Log slow = rig.open(faulty);
      int[] left = {k};
      faulty.before(
          op -> {
            if (--left[0] == 0) {
              retire(rig, log);
            }
          });
      sleeper.run(slow, to);
      fired = left[0] <= 0;
      settle(rig, log);
      assertEquals(6, Lines.settled(log).size(), "operation " + k);
    }
    assertTrue(k > 15, "operations: " + k);
  }

  @Test
  @Tag("share")
  void aCloserUnderWhoseHandsEverythingGoesIsToldNoError() throws Exception {
    retiredAtEach(RetiredUnderwayTest::advance);
  }

  @Test
  @Tag("share")
  void aSettledReaderUnderWhoseHandsEverythingGoesIsToldNoError() throws Exception {
    retiredAtEach((log, to) -> assertTrue(Lines.settled(log).size() >= 5));
  }

  /**
   * Somebody lists the groups of records, and then the last one, which was retired meanwhile.
   *
   * @param stays whether its directory is there again, since a closer is late, too
   */
  private static Path retireGroup(Rig rig, Log log, boolean stays) throws IOException {
    settle(rig, log);
    aggregate(rig);
    Path group = log.context().layout().recordGroup(0).path();
    assertEquals(LogLayout.RECORDS_PER_GROUP, new Retention(log, Duration.ZERO).run().records());
    if (stays) {
      rig.disk.view(Rig.ALICE).mkdir(group, 02775);
    }
    return group;
  }

  private static void settleUpTo(Rig rig, Log log, long number) throws IOException {
    var chain = new HorizonChain(log.context());
    long tip = chain.freshTip().orElseThrow().record().number();
    for (long n = tip; n < number; n++) {
      settle(rig, log);
    }
    assertEquals(number, chain.freshTip().orElseThrow().record().number());
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void r2_aWriterUnderWhoseHandsAGroupOfRecordsGoesIsRejected(boolean stays) throws Exception {
    Rig rig = rig(24, 1);
    Log log = open(rig);
    settleUpTo(rig, log, LogLayout.RECORDS_PER_GROUP - 1);
    var faulty = new FaultyFs(rig.disk.view(Rig.BOB));
    Log slow = rig.open(faulty);
    Path group = log.context().layout().recordGroup(0).path();
    int[] step = {0};
    faulty.before(
        op -> {
          if (step[0] == 0 && op.kind() == Kind.MKDIR && op.path().toString().contains("buckets")) {
            step[0]++;
            settle(rig, log); // so that its bucket is made too late
          } else if (step[0] == 1 && op.kind() == Kind.LIST && op.path().equals(group)) {
            step[0]++;
            assertEquals(group, retireGroup(rig, log, stays));
          }
        });
    Receipt late = slow.writer(Durability.SYNC).append("late".getBytes(StandardCharsets.UTF_8));
    assertEquals(2, step[0]);
    assertInstanceOf(Receipt.Rejected.class, late);
    assertEquals(5, Lines.settled(log).size());
  }

  /**
   * A closer sleeps until its record is retired, and acts on the last one; who linked that stopped
   * before its name was forced.
   *
   * @param there whether the closer finds the directory of its record gone, or makes it again
   */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void r2_whatASleeperGoesByOutlivesAPowerCut(boolean there) throws Exception {
    Rig rig = rig(26, 1);
    Log log = open(rig);
    settleUpTo(rig, log, LogLayout.RECORDS_PER_GROUP - 1);
    var chain = new HorizonChain(log.context());
    long tip = chain.freshTip().orElseThrow().record().to();
    long width = log.context().bucketWidth();
    rig.time.advanceMs(60_000);
    var stopped = new FaultyFs(rig.disk.view(Rig.BOB));
    Log other = rig.open(stopped);
    stopped.arm(1, Fault.CRASH_AFTER, op -> op.is(Kind.LINK, "0000001002"));
    var faulty = new FaultyFs(rig.disk.view(Rig.BOB));
    Log sleeper = rig.open(faulty);
    faulty.beforeFirst(
        op -> there ? op.is(Kind.LIST, "keys") : op.is(Kind.LINK, "0000001000"),
        () -> {
          advance(log, tip + width);
          advance(log, tip + 2 * width);
          aggregate(rig);
          assertTrue(new Retention(log, Duration.ZERO).run().records() >= 1000);
          assertThrows(FaultyFs.Crash.class, () -> advance(other, tip + 5 * width));
        });
    advance(sleeper, tip + 5 * width);
    assertTrue(stopped.fired());
    rig.disk.powerCut();
    assertEquals(tip + 5 * width, chain.freshTip().orElseThrow().record().to());
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void r2_aReaderUnderWhoseHandsAGroupOfRecordsGoesReadsTheSame(boolean stays) throws Exception {
    Rig rig = rig(25, 1);
    Log log = open(rig);
    settleUpTo(rig, log, LogLayout.RECORDS_PER_GROUP);
    var faulty = new FaultyFs(rig.disk.view(Rig.BOB));
    Log slow = rig.open(faulty);
    Path group = log.context().layout().recordGroup(0).path();
    faulty.beforeFirst(
        op -> op.kind() == Kind.LIST && op.path().equals(group),
        () -> assertEquals(group, retireGroup(rig, log, stays)));
    assertEquals(5, Lines.settled(slow).size());
  }
}
