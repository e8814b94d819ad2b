package dev.cinch.view;

import static dev.cinch.view.Retiring.HOUR;
import static dev.cinch.view.Retiring.aggregate;
import static dev.cinch.view.Retiring.files;
import static dev.cinch.view.Retiring.open;
import static dev.cinch.view.Retiring.rig;
import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.AuditReport;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.LeaseAuditor;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.audit.VerifySummary;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Fault;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.fs.StaleListFs;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.read.ExpiredException;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.read.MessageSink;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Share;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Whoever is at work on a log while all of it is settled and retired, or expires, before any one of
 * his operations: he is told no damage, waits for nothing, and what he says is so (rules H4, R1 to
 * R4). What waits for ever fails: a broken rule must not look like a slow machine.
 */
@Timeout(value = 1, unit = TimeUnit.HOURS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class UnderwayTest {
  /** What happens meanwhile. */
  private enum Event {
    /** Segments cover all, and nothing goes. */
    BUILT(0),
    /** After a year the directories are gone, too, and checkpoints behind which nothing stands. */
    RETIRED(400),
    /** A late writer makes its buckets again, and their marks. */
    MADE_AGAIN(0),
    EXPIRED(0),
    RETIRED_AND_EXPIRED(0);

    private final int days;

    Event(int days) {
      this.days = days;
    }

    void in(Rig rig) throws Exception {
      rig.time.advanceMs(7_200_000);
      Log log = open(rig);
      if (this == BUILT) {
        rig.settle(log);
        aggregate(rig);
      } else if (this != EXPIRED) {
        List<Path> directories =
            files(log, log.context().layout().buckets().path()).stream()
                .map(Path::getParent)
                .distinct()
                .toList();
        retire(rig, log);
        rig.time.advanceMs(Duration.ofDays(days).toMillis());
        if (this == RETIRED) {
          retire(rig, log);
        }
        new Retention(log, Duration.ZERO).run();
        for (Path directory : this == MADE_AGAIN ? directories : List.<Path>of()) {
          make(rig, directory);
          rig.disk.view(Rig.ALICE).create(directory.resolve("prelock"), 0664).close();
        }
      }
      if (this == EXPIRED || this == RETIRED_AND_EXPIRED) {
        assertTrue(new Expiry(log, HOUR).run(path -> {}).before() > Lines.MIN);
      }
    }

    private static void retire(Rig rig, Log log) throws Exception {
      rig.settle(log);
      aggregate(rig);
      new Retention(log, Duration.ZERO).run();
    }
  }

  /** What one does. */
  private enum Work {
    SETTLED {
      @Override
      void on(Rig rig, StoreFs fs, List<String> all) throws Exception {
        List<String> before = Lines.settled(open(rig));
        List<String> read = read(all, rig.open(fs).reader()::settled);
        assertTrue(read.containsAll(kept(rig, before)));
      }
    },
    LIVE {
      @Override
      void on(Rig rig, StoreFs fs, List<String> all) throws Exception {
        List<String> read = read(all, rig.open(fs).reader()::live);
        assertEquals(all.get(all.size() - 1), read.get(read.size() - 1));
      }
    },
    VERIFY {
      @Override
      void on(Rig rig, StoreFs fs, List<String> all) throws Exception {
        assertEquals(List.of(), rig.damage(fs));
      }
    },
    AUDIT {
      @Override
      void on(Rig rig, StoreFs fs, List<String> all) throws Exception {
        List<String> before = Lines.settled(open(rig));
        AuditReport report =
            LeaseAuditor.audit(Store.open(rig.root, rig.environment(fs, rig.time)));
        assertEquals(List.of(), report.violations());
        assertTrue(report.messages() >= kept(rig, before).size());
      }
    },
    CLOSE {
      @Override
      void on(Rig rig, StoreFs fs, List<String> all) throws Exception {
        Log log = rig.open(fs);
        long to = log.horizon().reachable();
        assertTrue(log.horizon().advance(to, OptionalLong.of(to)).record().to() >= to);
      }
    },
    KEEP {
      @Override
      void on(Rig rig, StoreFs fs, List<String> all) throws Exception {
        Log log = rig.open(fs);
        Aggregator.Result unused =
            new Aggregator(log, new Aggregator.Limits(1, Long.MAX_VALUE)).run();
        new Retention(log, HOUR).run();
        new Expiry(log, HOUR).run(path -> {});
      }
    },
    /** A second batch goes into a file that is still open. */
    APPEND {
      @Override
      void on(Rig rig, StoreFs fs, List<String> all) throws Exception {
        try (LogWriter writer = rig.open(fs).writer(Durability.SYNC)) {
          for (String text : List.of("one", "two")) {
            Receipt receipt = writer.append(text.getBytes(StandardCharsets.UTF_8));
            if (receipt instanceof Receipt.Committed c) {
              all.add(c.timestamp() + " " + c.file() + " " + c.position() + " 0 true " + text);
            }
          }
        }
      }
    };

    boolean writes() {
      return compareTo(CLOSE) >= 0;
    }

    /**
     * @param all what there is and was, to which it adds
     */
    abstract void on(Rig rig, StoreFs fs, List<String> all) throws Exception;
  }

  /** What was settled before, and is still there. */
  private static List<String> kept(Rig rig, List<String> before) throws IOException {
    before.retainAll(Lines.settled(open(rig)));
    return before;
  }

  private interface Read {
    long run(long from, long to, MessageSink sink, LogReader.Objection objection)
        throws IOException;
  }

  /** Reads a part of all there is, and goes on to its end where it is told that some expired. */
  private static List<String> read(List<String> all, Read read) throws IOException {
    var lines = new ArrayList<String>();
    MessageSink sink = m -> lines.add(Lines.line(m).replace(" false ", " true "));
    long from = Lines.MIN;
    while (true) {
      try {
        long unused = read.run(from, Lines.MAX, sink, (m, file, why) -> {});
        assertTrue(Collections.indexOfSubList(all, lines) >= 0, lines::toString);
        return lines;
      } catch (ExpiredException e) {
        assertTrue(Collections.indexOfSubList(all, lines) >= 0, lines::toString);
        lines.clear();
        from = e.before();
      }
    }
  }

  /**
   * Some segments, a record that is in none, and what is open.
   *
   * @param fresh whether there is no checkpoint; else all segments but the last stand behind one
   */
  private static Rig store(long seed, boolean fresh) throws Exception {
    Rig rig = rig(seed, 3);
    aggregate(rig);
    rig.time.advanceMs(7_200_000);
    if (!fresh) {
      new Retention(open(rig), HOUR).run();
      Lines.write(rig, 2, 5);
      aggregate(rig);
    }
    Lines.write(rig, 2, 5);
    for (int i = 0; i < 2; i++) {
      Lines.append(open(rig).writer(Durability.SYNC), "long " + "x".repeat(60_000));
      Lines.append(open(rig).writer(Durability.SYNC), "short");
      rig.time.advanceMs(2_000);
    }
    return rig;
  }

  private static void make(Rig rig, Path directory) throws IOException {
    if (isGone(rig, directory)) {
      make(rig, requireNonNull(directory.getParent()));
      rig.disk.view(Rig.ALICE).mkdir(directory, 02775);
    }
  }

  private static boolean isGone(Rig rig, Path file) throws IOException {
    try {
      return rig.disk.view(0).status(file) == null;
    } catch (NoSuchFileException e) {
      return true;
    }
  }

  @ParameterizedTest
  @CsvSource({
    "SETTLED, RETIRED, 5",
    "SETTLED, EXPIRED, 5",
    "LIVE, RETIRED, 5",
    "LIVE, MADE_AGAIN, 5",
    "LIVE, RETIRED_AND_EXPIRED, 5",
    "VERIFY, RETIRED, 7",
    "VERIFY, EXPIRED, 7",
    "VERIFY, RETIRED_AND_EXPIRED, 3",
    "AUDIT, RETIRED, 7",
    "AUDIT, RETIRED_AND_EXPIRED, 7",
    "CLOSE, RETIRED, 3",
    "CLOSE, EXPIRED, 7",
    "KEEP, EXPIRED, 7",
    "KEEP, RETIRED_AND_EXPIRED, 7",
    "APPEND, RETIRED, 3",
    "APPEND, MADE_AGAIN, 3"
  })
  @Tag("share")
  void r1_r2_r3_r4_h4_whatGoesUnderOnesHands(Work work, Event event, int step) throws Exception {
    boolean fired = true;
    for (int k = 1 + Share.first(step); fired; k += Share.step(step)) {
      boolean both = event == Event.RETIRED_AND_EXPIRED;
      boolean fresh = both || event == Event.RETIRED && k % 2 == 0;
      Rig rig = store(k, fresh);
      List<String> all = Lines.live(open(rig));
      var fs = new FaultyFs(rig.disk.view(Rig.BOB));
      int left = k;
      long[] took = {0};
      int[] done = {0};
      fs.before(
          op -> {
            if (++done[0] == left) {
              long began = rig.time.monotonicNanos();
              event.in(rig);
              took[0] = rig.time.monotonicNanos() - began;
            }
            if (op.kind() == Kind.GET && done[0] >= left && isGone(rig, op.path())) {
              throw new FileSystemException("" + op.path(), null, "Stale file handle"); // as on NFS
            }
          });
      long began = rig.time.monotonicNanos();
      String what = work + " beside " + event + " before operation " + k;
      try {
        work.on(rig, fs, all);
      } catch (IOException e) {
        throw new AssertionError(what, e);
      }
      fired = done[0] >= left;
      assertTrue(
          rig.time.monotonicNanos() - began - took[0] < 1_000_000_000L || work == Work.APPEND,
          what);
      fs.before(op -> {});
      if (work.writes()) {
        rig.settle(open(rig));
        List<String> now = Lines.settled(open(rig));
        assertEquals(all.subList(all.size() - now.size(), all.size()), now, what);
        assertEquals(List.of(), rig.damage(rig.disk.view(Rig.BOB)), what);
      }
    }
  }

  private static void advance(Log log, long to) throws Exception {
    log.horizon().advance(to, OptionalLong.empty());
  }

  /**
   * A closer sleeps until its record is retired: what it links does not count, and it goes on by
   * the last one. Who linked that stopped before its name was forced.
   *
   * @param there whether it makes the directory of its record again, or finds it gone
   */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void r2_aSleeperThatLinkedARetiredRecordSettlesWhatIsLeft(boolean there) throws Exception {
    Rig rig = rig(26, 1);
    Log log = open(rig);
    for (int n = 1; n < LogLayout.RECORDS_PER_GROUP - 1; n++) {
      rig.settle(log);
    }
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
    assertTrue(chain.readUnlessRetired(1000).isEmpty());
    assertEquals(5, Lines.settled(open(rig)).size());
  }

  /** A closer makes the directory of the next group before its first record, and it may go. */
  @Test
  void r2_aGroupOfRecordsThatIsEmptyOrGoesHidesNone() throws Exception {
    Rig rig = rig(25, 1);
    Path next = open(rig).context().layout().recordGroup(1).path();
    rig.disk.view(Rig.ALICE).mkdir(next, 02775);
    assertEquals(5, Lines.settled(open(rig)).size());
    var faulty = new FaultyFs(rig.disk.view(Rig.BOB));
    Log slow = rig.open(faulty);
    faulty.beforeFirst(
        op -> op.kind() == Kind.LIST && op.path().equals(next),
        () -> rig.disk.view(Rig.ALICE).rmdir(next));
    assertEquals(5, Lines.settled(slow).size());
    assertTrue(isGone(rig, next));
  }

  @Test
  void h4_aReaderWhoseListingOfTheRecordsIsOldStartsFromTheCheckpoint() throws Exception {
    Rig rig = rig(15, 3);
    aggregate(rig);
    Log log = open(rig);
    List<String> expected = Lines.settled(log);
    Path records = log.context().layout().records().path();
    Path group = log.context().layout().recordGroup(0).path();
    List<String> names = rig.disk.view(0).list(group);
    rig.time.advanceMs(7_200_000);
    assertEquals(2, new Retention(log, HOUR).run().records());
    StoreFs bob = rig.disk.view(Rig.BOB);
    for (StoreFs old :
        List.of(
            new StaleListFs(bob, records, List.of()),
            new StaleListFs(bob, group, List.of()),
            new StaleListFs(bob, group, names.subList(0, 1)))) {
      assertEquals(expected, Lines.live(rig.open(old)));
    }
  }

  /** Listings from a cache may be from before, and of one directory older than of another. */
  @Test
  void n2_verifyLooksPastCachesBeforeItCallsSomethingDamaged() throws Exception {
    LogLayout layout = open(rig(1, 1)).context().layout();
    var listed =
        List.of(layout.checkpoints(), layout.segments(), layout.records(), layout.recordGroup(0));
    for (int known = 0; known < 1 << listed.size(); known++) {
      for (Event event : new Event[] {Event.BUILT, Event.RETIRED, Event.EXPIRED}) {
        Rig rig = store(1, false);
        var fs = new StaleListFs(rig.disk.view(Rig.BOB));
        for (int i = 0; i < listed.size(); i++) {
          if ((known & 1 << i) != 0) {
            assertFalse(fs.list(listed.get(i).path()).isEmpty());
          }
        }
        event.in(rig);
        assertEquals(List.of(), rig.damage(fs), event + ", of listings " + known);
        assertEquals(Lines.settled(open(rig)), Lines.settled(rig.open(fs)));
      }
    }
  }

  /** A listing of many pieces began before two segments were published, and ended after. */
  @Test
  void n2_verifyFindsTheSegmentThatALongListingLacks() throws Exception {
    Rig rig = store(1, false);
    LogLayout layout = open(rig).context().layout();
    Path segments = layout.segments().path();
    var listed = new ArrayList<>(rig.disk.view(Rig.BOB).list(segments));
    assertTrue(listed.removeIf(name -> name.startsWith(layout.segment(2).last())));
    assertEquals(List.of(), rig.damage(new StaleListFs(rig.disk.view(Rig.BOB), segments, listed)));
    rig.disk.view(0).unlink(layout.segment(2).path());
    assertFalse(rig.damage(new StaleListFs(rig.disk.view(Rig.BOB), segments, listed)).isEmpty());
  }

  /** It has no message; who appends to it makes it whole. */
  @Test
  void verifyTakesALogThatIsBeingMadeForWhatItIs() throws Exception {
    Rig rig = rig(1, 1);
    LogLayout layout = new StoreLayout(rig.root).log(new LogName("new"));
    for (Name directory : List.of(layout.root(), layout.horizon(), layout.records())) {
      rig.disk.view(Rig.ALICE).mkdir(directory.path(), 02775);
      VerifySummary summary =
          StoreVerifier.verify(
              rig.root, rig.environment(rig.disk.view(Rig.BOB), rig.time), finding -> {});
      assertEquals(0, summary.damage());
      assertEquals(1, summary.notes());
      assertEquals(1, summary.logs());
    }
  }

  /** However often it looks whether something was retired. */
  @Test
  void verifyTellsADamagedSegmentOnce() throws Exception {
    Rig rig = store(1, false);
    LogLayout layout = open(rig).context().layout();
    StoreFs fs = rig.disk.view(0);
    fs.unlink(layout.segment(2).path());
    fs.create(layout.segment(2).path(), 0664).close();
    fs.unlink(layout.record(5).path());
    List<Finding> found = rig.damage(fs);
    assertEquals(found.size(), Set.copyOf(found).size(), found::toString);
    assertTrue(found.size() > 1, found::toString);
  }

  /** Neither goes a segment before its floor lasts, nor is there a floor before its checkpoint. */
  @Test
  void r4_namesLastBeforeWhatRestsOnThem() throws Exception {
    int taken = 0;
    for (int k = 1; taken < 3; k++) {
      Rig rig = store(k, false);
      var first = new FaultyFs(rig.disk.view(Rig.ALICE));
      Log stopped = rig.open(first);
      first.arm(k, Fault.CRASH_AFTER);
      try {
        new Expiry(stopped, HOUR).run(path -> {});
      } catch (FaultyFs.Crash e) {
        // Its floor is there, or not.
      }
      assertTrue(first.fired(), "operation " + k);
      taken += Lines.MIN < open(rig).reader().expired() ? 1 : 0;
      var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
      Log log = rig.open(faulty);
      LogLayout layout = log.context().layout();
      boolean[] forced = {false};
      faulty.before(
          op -> {
            String name = String.valueOf(op.path().getFileName());
            boolean goes =
                op.kind() == Kind.UNLINK
                    && layout.segments().path().equals(op.path().getParent())
                    && !name.startsWith("tmp-");
            boolean comes = op.kind() == Kind.LINK && name.startsWith("floor-");
            assertTrue(forced[0] || (!goes && !comes), "" + op);
            forced[0] |=
                op.kind() == Kind.FORCE_DIRECTORY && op.path().equals(layout.checkpoints().path());
          });
      new Expiry(log, HOUR).run(path -> {});
    }
  }
}
