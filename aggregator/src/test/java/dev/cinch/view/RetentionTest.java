package dev.cinch.view;

import static dev.cinch.view.Retiring.HOUR;
import static dev.cinch.view.Retiring.aggregate;
import static dev.cinch.view.Retiring.files;
import static dev.cinch.view.Retiring.open;
import static dev.cinch.view.Retiring.rig;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.format.Checkpoint;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.SegmentEncoder;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Fault;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.fs.FaultyFs.Op;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.lease.Altered;
import dev.cinch.lease.Share;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What goes, when, and what a run leaves that is stopped: rules R1 to R3. */
class RetentionTest {
  private static List<Long> checkpoints(Log log) throws IOException {
    return PosixStore.of(log.context().store().storage())
        .fs()
        .list(log.context().layout().checkpoints().path())
        .stream()
        .map(Long::valueOf)
        .sorted()
        .toList();
  }

  private static List<Path> inBuckets(Log log) throws IOException {
    return files(log, log.context().layout().buckets().path());
  }

  private static String name(Op op) {
    return op.path().getFileName().toString();
  }

  private static boolean isData(Path file) {
    return file.toString().endsWith(".log");
  }

  /** Locks do not; data files go as soon as a record lists them (rule R0). */
  @Test
  void r1_nothingGoesBeforeASegmentCoversIt() throws Exception {
    Rig rig = rig(1, 3);
    Log log = open(rig);
    List<Path> before = inBuckets(log);
    assertTrue(before.stream().anyMatch(RetentionTest::isData));
    rig.time.advanceMs(7_200_000);
    assertEquals(0, new Retention(log, HOUR).run().buckets());
    assertEquals(before.stream().filter(f -> !isData(f)).toList(), inBuckets(log));
    assertEquals(15, Lines.settled(log).size());
    aggregate(rig);
    Lines.write(rig, 3, 3); // settled, old, and not in a segment
    rig.time.advanceMs(7_200_000);
    assertEquals(3, new Retention(log, HOUR).run().buckets());
    assertFalse(inBuckets(log).isEmpty());
    assertEquals(18, Lines.settled(log).size());
  }

  /** A damaged checkpoint that names too low a segment must not make messages vanish. */
  @Test
  void r1_segmentsThatEndBeforeTheCheckpointAreDamage() throws Exception {
    Rig rig = rig(4, 2);
    aggregate(rig);
    rig.time.advanceMs(7_200_000);
    Log log = open(rig);
    assertEquals(2, new Retention(log, HOUR).run().buckets());
    Checkpoint c = new HorizonChain(log.context()).checkpoint().orElseThrow();
    assertEquals(2, c.segment());
    StoreFs root = rig.disk.view(0);
    Path name = log.context().layout().checkpoint(c.number()).path();
    root.unlink(name);
    try (StoreFile out = root.create(name, 0664)) {
      var less = Altered.with(c, "segment", 1, "segments", c.segments().subList(0, 1));
      out.write(ByteBuffer.wrap(less.encode()));
    }
    DamagedException e = assertThrows(DamagedException.class, () -> Lines.settled(open(rig)));
    assertTrue(String.valueOf(e.getMessage()).contains("a range up to " + c.to()), e.toString());
  }

  @Test
  void r1_nothingGoesBeforeItsTime() throws Exception {
    Rig rig = rig(2, 2);
    aggregate(rig);
    Log log = open(rig);
    List<Path> before = inBuckets(log);
    assertFalse(new Retention(log, HOUR).plan().publishes());
    assertEquals(0, new Retention(log, HOUR).run().buckets());
    assertEquals(before, inBuckets(log));
    rig.time.advanceMs(3_599_000 - 10_000);
    assertEquals(0, new Retention(log, HOUR).run().buckets());
    rig.time.advanceMs(20_000);
    assertEquals(2, new Retention(log, HOUR).run().buckets());
    assertEquals(List.of(), inBuckets(log));
  }

  @Test
  void aPlanNamesWhatGoesAndChangesNothing() throws Exception {
    Rig rig = rig(3, 3);
    aggregate(rig);
    Log log = open(rig);
    List<Path> before = files(log, log.context().layout().root().path());
    rig.time.advanceMs(7_200_000);
    var named = new ArrayList<Name>();
    Retention.Plan plan = new Retention(log, HOUR).plan(named::add);
    assertTrue(plan.publishes());
    assertEquals(3, plan.buckets());
    assertEquals(2, plan.records());
    assertEquals(5, named.size());
    assertEquals(before, files(log, log.context().layout().root().path()));
    assertEquals(plan, new Retention(log, HOUR).run());
    assertEquals(0, new Retention(log, HOUR).run().buckets());
  }

  @Test
  void r1_aDamagedSegmentStopsIt() throws Exception {
    Rig rig = rig(4, 2);
    aggregate(rig);
    Log log = open(rig);
    Path segment = log.context().layout().segment(2).path();
    byte[] bytes = PosixStore.of(log.context().store().storage()).fresh().readAll(segment, 1 << 20);
    bytes[bytes.length / 2] ^= 4;
    try (StoreFile out = rig.disk.view(0).overwrite(segment)) {
      out.write(ByteBuffer.wrap(bytes));
    }
    rig.time.advanceMs(7_200_000);
    List<Path> before = inBuckets(log);
    assertThrows(DamagedException.class, () -> new Retention(log, HOUR).run());
    assertEquals(before, inBuckets(log));
    assertTrue(new HorizonChain(log.context()).checkpoint().isEmpty());
  }

  @Test
  void r1_aSegmentThatLacksABucketStopsIt() throws Exception {
    Rig rig = rig(5, 1);
    aggregate(rig);
    Log log = open(rig);
    Path name = log.context().layout().segment(1).path();
    SegmentHeader header;
    try (SegmentReader segment = SegmentReader.open(log.context(), 1)) {
      header = segment.header();
    }
    rig.disk.view(0).unlink(name);
    var bytes = new ByteArrayOutputStream();
    new SegmentEncoder(
            header,
            b -> {
              var piece = new byte[b.remaining()];
              b.get(piece);
              bytes.writeBytes(piece);
            })
        .end();
    PosixStore.of(log.context().store().storage()).fresh().publish(name, bytes.toByteArray(), 0444);
    rig.time.advanceMs(7_200_000);
    assertThrows(DamagedException.class, () -> new Retention(log, HOUR).run());
    assertEquals(5, Lines.settled(log).size());
  }

  @Test
  void r2_theCheckpointStandsBeforeAnythingGoes() throws Exception {
    Rig rig = rig(8, 4);
    aggregate(rig);
    rig.time.advanceMs(7_200_000);
    var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
    Log log = rig.open(faulty);
    LogLayout layout = log.context().layout();
    boolean[] published = {false};
    faulty.before(
        op -> {
          boolean removes = op.kind() == Kind.UNLINK || op.kind() == Kind.RMDIR;
          boolean matters =
              op.path().startsWith(layout.buckets().path())
                  || op.path().startsWith(layout.records().path()) && !Name.isTemporary(name(op));
          if (removes && matters) {
            assertTrue(published[0], "" + op);
          }
          if (op.kind() == Kind.FORCE_DIRECTORY && op.path().equals(layout.checkpoints().path())) {
            published[0] = true; // forced, and not only linked
          }
        });
    assertEquals(3, new Retention(log, HOUR).run().records());
    Checkpoint c = new HorizonChain(log.context()).checkpoint().orElseThrow();
    assertEquals(4, c.number());
    assertEquals(4, c.segment());
    // It and later ones stay, with their seals.
    HorizonChain.Link fourth = new HorizonChain(log.context()).freshTip().orElseThrow();
    assertEquals(
        List.of(layout.record(4).path(), layout.recordSeal(4, fourth.digest()).path()),
        files(log, layout.records().path()).stream().sorted().toList());
  }

  /** Its maker may have stopped between linking it and forcing its name. */
  @Test
  void r1_aSegmentLastsBeforeWhatItCoversGoes() throws Exception {
    Rig rig = rig(18, 1);
    var stopped = new FaultyFs(rig.disk.view(Rig.ALICE));
    var aggregator = new Aggregator(rig.open(stopped));
    stopped.arm(1, Fault.CRASH_AFTER, op -> op.is(Kind.LINK, "0000000001"));
    assertThrows(FaultyFs.Crash.class, () -> aggregator.run().published());
    rig.time.advanceMs(7_200_000);
    assertEquals(1, new Retention(open(rig), HOUR).run().buckets());
    rig.disk.powerCut();
    assertEquals(5, Lines.settled(open(rig)).size());
  }

  @Test
  void checkpointsThatAreLongBehindAnotherGo() throws Exception {
    Rig rig = rig(16, 2);
    aggregate(rig);
    rig.time.advanceMs(7_200_000);
    Log log = open(rig);
    assertEquals(0, new Retention(log, HOUR).run().stale());
    for (int i = 0; i < 2; i++) {
      Lines.write(rig, 5, 5);
      aggregate(rig);
      rig.time.advanceMs(Duration.ofDays(2).toMillis());
      // The newest stands since a moment ago: who may not write may not see it yet.
      Retention.Plan plan = new Retention(log, HOUR).plan();
      assertEquals(plan, new Retention(log, HOUR).run());
    }
    assertEquals(List.of(3L, 4L), checkpoints(log));
    assertEquals(0, new Retention(log, HOUR).run().stale());
    rig.time.advanceMs(Duration.ofDays(2).toMillis());
    assertEquals(1, new Retention(log, HOUR).run().stale());
    assertEquals(List.of(4L), checkpoints(log));
    assertEquals(20, Lines.settled(log).size());
  }

  @Test
  void r3_dataFilesGoFirstAndTheLockLast() throws Exception {
    Rig rig = rig(10, 2);
    aggregate(rig);
    rig.time.advanceMs(7_200_000);
    var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
    Log log = rig.open(faulty);
    List<Path> buckets = new ArrayList<>();
    for (Path p : inBuckets(log)) {
      if (name(new Op(Kind.UNLINK, p)).equals("lock")) {
        buckets.add(p.getParent());
      }
    }
    faulty.clearTrace();
    assertEquals(2, new Retention(log, HOUR).run().buckets());
    for (Path bucket : buckets) {
      var order = new ArrayList<String>();
      for (Op op : faulty.trace()) {
        boolean removed = op.kind() == Kind.UNLINK && bucket.equals(op.path().getParent());
        if (removed) {
          order.add(name(op).endsWith(".log") ? "data" : name(op));
        } else if (op.kind() == Kind.RMDIR && op.path().equals(bucket)) {
          order.add("rmdir");
        }
      }
      assertEquals(List.of("data", "data", "prelock", "lock", "rmdir"), order);
    }
  }

  @ParameterizedTest
  @Tag("share")
  @EnumSource(Fault.class)
  void r3_afterAFaultAtAnyOperationReadersSeeTheSameAndTheNextRunFinishes(Fault fault)
      throws Exception {
    int k = 1 + Share.first(3);
    while (true) {
      Rig rig = rig(11, 3);
      aggregate(rig);
      List<String> expected = Lines.settled(open(rig));
      rig.time.advanceMs(7_200_000);
      var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
      Log log = rig.open(faulty);
      faulty.arm(k, fault);
      try {
        new Retention(log, HOUR).run();
      } catch (IOException | FaultyFs.Crash e) {
        // What the process did not survive, the next one finishes.
      }
      if (!faulty.fired()) {
        break;
      }
      if (fault.crashes() && k % 2 == 0) {
        rig.disk.powerCut();
      }
      assertEquals(expected, Lines.settled(open(rig)), "after a fault at operation " + k);
      new Retention(open(rig), HOUR).run();
      assertEquals(List.of(), inBuckets(open(rig)), "after a fault at operation " + k);
      assertEquals(expected, Lines.settled(open(rig)), "after a fault at operation " + k);
      k += Share.step(3);
    }
    assertTrue(k > 60, "operations: " + k);
  }

  /** A file can't be removed for as long as what is returned says so. */
  private static boolean[] busy(FaultyFs faulty, Path held) {
    boolean[] open = {true};
    faulty.before(
        op -> {
          if (open[0] && op.kind() == Kind.UNLINK && op.path().equals(held)) {
            throw new FileSystemException(held.toString(), null, "Device or resource busy");
          }
        });
    return open;
  }

  /** An NFS client keeps a file that it removes under another name while a process has it open. */
  @Test
  void whatAProcessStillHasOpenGoesInALaterRun() throws Exception {
    Rig rig = rig(21, 2);
    aggregate(rig);
    List<String> expected = Lines.settled(open(rig));
    rig.time.advanceMs(7_200_000);
    var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
    Log log = rig.open(faulty);
    Path held = inBuckets(log).get(0).resolveSibling(".nfs000000000a1b2c3d00000001");
    rig.disk.view(0).create(held, 0644).close();
    boolean[] open = busy(faulty, held);
    assertEquals(1, new Retention(log, HOUR).run().buckets());
    assertEquals(List.of(held), inBuckets(log));
    assertEquals(expected, Lines.settled(log));
    open[0] = false; // or its machine died: then nobody else removes it
    assertEquals(1, new Retention(log, HOUR).run().buckets());
    assertEquals(List.of(), inBuckets(log));
    assertEquals(expected, Lines.settled(log));
  }

  /** The same for records, which have no directory of their own. */
  @Test
  void recordsThatAProcessStillHasOpenGoInALaterRun() throws Exception {
    Rig rig = rig(22, 1);
    Log settling = open(rig);
    for (int i = 0; i < LogLayout.RECORDS_PER_GROUP; i++) {
      rig.settle(settling);
    }
    Lines.write(rig, 5, 5);
    aggregate(rig);
    rig.time.advanceMs(7_200_000);
    var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
    Log log = rig.open(faulty);
    Path group = log.context().layout().recordGroup(0).path();
    Path held = group.resolve(".nfs000000000a1b2c3d00000001");
    rig.disk.view(0).create(held, 0644).close();
    boolean[] open = busy(faulty, held);
    assertEquals(LogLayout.RECORDS_PER_GROUP + 1, new Retention(log, HOUR).run().records());
    assertEquals(List.of(held), files(log, group));
    assertEquals(0, new Retention(log, HOUR).run().records());
    open[0] = false;
    assertEquals(1, new Retention(log, HOUR).run().records());
    assertThrows(NoSuchFileException.class, () -> files(log, group));
    assertEquals(10, Lines.settled(log).size());
  }

  @Test
  void whatAnotherUserRemovesMeanwhileIsNotComplainedAbout() throws Exception {
    Rig rig = rig(20, 2);
    aggregate(rig);
    List<String> expected = Lines.settled(open(rig));
    rig.time.advanceMs(7_200_000);
    var faulty = new FaultyFs(rig.disk.view(Rig.BOB));
    Log bob = rig.open(faulty);
    Path buckets = bob.context().layout().buckets().path();
    faulty.beforeFirst(
        op -> op.kind() == Kind.STATUS && op.path().startsWith(buckets),
        () -> assertEquals(2, new Retention(open(rig), HOUR).run().buckets()));
    assertEquals(0, new Retention(bob, HOUR).run().buckets());
    assertEquals(List.of(), inBuckets(bob));
    assertEquals(expected, Lines.settled(bob));
  }

  @Test
  void twoRunsAtOnceFinish() throws Exception {
    Rig rig = rig(12, 3);
    aggregate(rig);
    List<String> expected = Lines.settled(open(rig));
    rig.time.advanceMs(7_200_000);
    var faulty = new FaultyFs(rig.disk.view(Rig.BOB));
    Log slow = rig.open(faulty);
    for (Kind kind : List.of(Kind.LINK, Kind.CHMOD, Kind.UNLINK, Kind.RMDIR)) {
      boolean[] done = {false};
      faulty.before(
          op -> {
            if (!done[0] && op.kind() == kind) {
              done[0] = true;
              new Retention(open(rig), HOUR).run();
            }
          });
      new Retention(slow, HOUR).run();
      assertEquals(List.of(), inBuckets(slow));
      assertEquals(expected, Lines.settled(slow));
      faulty.before(op -> {});
      Lines.write(rig, 3, 3);
      aggregate(rig);
      expected = Lines.settled(slow);
      rig.time.advanceMs(7_200_000);
    }
  }

  @Test
  void staleTemporaryFilesGo() throws Exception {
    Rig rig = rig(13, 1);
    Log log = open(rig);
    Path left = log.context().layout().segments().resolve("tmp-left").path();
    PosixStore.of(log.context().store().storage()).fs().create(left, 0644).close();
    assertEquals(0, new Retention(log, HOUR).run().stale());
    rig.time.advanceMs(Duration.ofDays(2).toMillis());
    assertEquals(1, new Retention(log, HOUR).run().stale());
    assertThrows(
        NoSuchFileException.class,
        () -> PosixStore.of(log.context().store().storage()).fs().status(left));
  }

  @Test
  void theHorizonGoesOnBehindACheckpoint() throws Exception {
    Rig rig = rig(14, 2);
    aggregate(rig);
    rig.time.advanceMs(7_200_000);
    Log log = open(rig);
    new Retention(log, HOUR).run();
    long to = new HorizonChain(log.context()).freshTip().orElseThrow().record().to();
    log.horizon().advance(to, OptionalLong.empty());
    Lines.write(rig, 4, 4);
    assertEquals(14, Lines.settled(log).size());
    aggregate(rig);
    assertEquals(Lines.settled(log), Lines.segments(log));
  }
}
