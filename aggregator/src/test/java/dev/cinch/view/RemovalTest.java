package dev.cinch.view;

import static dev.cinch.view.Retiring.files;
import static dev.cinch.view.Retiring.open;
import static dev.cinch.view.Retiring.rig;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.LogRemovedException;
import dev.cinch.bag.Messages;
import dev.cinch.bag.Rig;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.format.Removal;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Fault;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.storage.Entered;
import dev.cinch.bag.storage.Entered.Mark;
import dev.cinch.bag.storage.Storage;
import dev.cinch.bag.storage.object.FakeObjects;
import dev.cinch.bag.storage.object.PassingObjects;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.store.RemovedLogs;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Id;
import dev.cinch.lease.Share;
import dev.cinch.lease.time.ManualTime;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A log that is removed: rule H8. */
class RemovalTest {
  private static Receipt append(LogWriter writer, String text) throws Exception {
    return writer.append(text.getBytes(StandardCharsets.UTF_8));
  }

  private static Store store(Rig rig) throws IOException {
    return Store.open(rig.root, rig.environment(rig.disk.view(Rig.ALICE), rig.time));
  }

  private static Removal remove(Log log) throws IOException, InterruptedException {
    HorizonChain.Link unused = log.horizon().end();
    return new RemovedLogs(log.context().store()).bury(log.context());
  }

  private static List<String> verify(Rig rig) throws IOException {
    var found = new ArrayList<String>();
    StoreVerifier.verify(
        rig.root,
        rig.environment(rig.disk.view(Rig.ALICE), rig.time),
        f -> found.add(f.toString()));
    return found;
  }

  private static void agrees(Log log, Receipt receipt, String text, String when)
      throws IOException {
    long there = Lines.settled(log).stream().filter(l -> l.endsWith(" " + text)).count();
    assertEquals(receipt instanceof Receipt.Committed ? 1 : 0, there, when + ": " + receipt);
  }

  /** Before each operation of an append somebody removes the log. */
  @Test
  void h8_whatIsCommittedWhileTheLogEndsIsInIt() throws Exception {
    boolean fired = true;
    int committed = 0;
    for (int k = 1; fired; k++) {
      Rig rig = rig(k, 1);
      Log other = open(rig);
      var faulty = new FaultyFs(rig.disk.view(Rig.BOB));
      try (LogWriter writer = rig.open(faulty).writer(Durability.SYNC)) {
        int[] left = {k};
        faulty.before(
            op -> {
              if (--left[0] == 0) {
                end(other);
              }
            });
        Receipt receipt = append(writer, "under way");
        fired = left[0] <= 0;
        if (!fired) {
          break;
        }
        agrees(other, receipt, "under way", "before operation " + k);
        committed += receipt instanceof Receipt.Committed ? 1 : 0;
        assertInstanceOf(Receipt.Rejected.class, append(writer, "after"));
      }
    }
    assertTrue(committed > 0, "some were visible before");
  }

  private static void end(Log log) {
    try {
      HorizonChain.Link unused = log.horizon().end();
    } catch (IOException | InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** Before each operation of a removal somebody appends, in a bucket of his own. */
  @Test
  void h8_aWriterSeesTheIntentOfWhoeverEndsTheLog() throws Exception {
    boolean fired = true;
    int rejected = 0;
    for (int k = 1; fired; k++) {
      Rig rig = rig(k, 1);
      rig.time.advanceMs(60_000); // the next message makes a bucket
      Log writing = rig.open(rig.disk.view(Rig.BOB));
      var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
      Log log = rig.open(faulty);
      int[] left = {k};
      var receipts = new ArrayList<Receipt>();
      try (LogWriter writer = writing.writer(Durability.SYNC)) {
        faulty.before(
            op -> {
              if (--left[0] == 0) {
                receipts.add(append(writer, "beside"));
              }
            });
        end(log);
      }
      fired = left[0] <= 0;
      if (fired) {
        agrees(open(rig), receipts.get(0), "beside", "before operation " + k);
        rejected += receipts.get(0) instanceof Receipt.Rejected ? 1 : 0;
      }
    }
    assertTrue(rejected > 0, "some came too late");
  }

  @ParameterizedTest
  @Tag("share")
  @EnumSource(Fault.class)
  void h8_stoppedAnywhere(Fault fault) throws Exception {
    boolean fired = true;
    for (int k = 1 + Share.first(5); fired; k += Share.step(5)) {
      Rig rig = rig(5, 2);
      var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
      Log log = rig.open(faulty);
      faulty.arm(k, fault);
      try {
        Removal unused = remove(log);
      } catch (IOException | FaultyFs.Crash e) {
        // What the process did not survive, the next one finishes.
      }
      fired = faulty.fired();
      if (fault.crashes() && k % 2 == 0) {
        rig.disk.powerCut();
      }
      String when = fault + " at " + k;
      assertTrue(verify(rig).stream().noneMatch(f -> f.startsWith("damage")), when);
      try {
        Removal unused = remove(open(rig));
      } catch (LogRemovedException e) {
        // It was removed.
      }
      assertThrows(LogRemovedException.class, () -> open(rig), when);
      assertTrue(verify(rig).stream().noneMatch(f -> f.startsWith("damage")), when);
    }
  }

  /** Who stopped there leaves an identity beside the tombstone: a cache may show that one alone. */
  @Test
  void h8_filesStayForADayAfterTheLogCouldBeOpened() throws Exception {
    Rig rig = rig(5, 2);
    List<String> all = Lines.settled(open(rig));
    var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
    Log log = rig.open(faulty);
    faulty.before(
        op -> {
          if (op.kind() == FaultyFs.Kind.UNLINK && op.path().endsWith("identity")) {
            throw new IllegalStateException("killed");
          }
        });
    assertThrows(IllegalStateException.class, () -> remove(log));
    rig.time.advanceMs(Duration.ofDays(2).toMillis());
    assertThrows(LogRemovedException.class, () -> open(rig));
    var deleting = new RemovedLogFiles(store(rig));
    assertEquals(0, deleting.delete(Rig.JOBS, false, p -> {}));
    assertEquals(all, Lines.settled(log));
    assertEquals(0, deleting.delete(Rig.JOBS, true, p -> {}));
    assertThrows(LogRemovedException.class, () -> open(rig));
    assertEquals(0, deleting.delete(Rig.JOBS, true, p -> {}));
    assertEquals(all, Lines.settled(log));
    rig.time.advanceMs(Duration.ofDays(2).toMillis());
    assertTrue(deleting.delete(Rig.JOBS, true, p -> {}) > 0);
    assertEquals(List.of(), verify(rig));
  }

  /** Also one of several; what all have by then is given first. */
  @Test
  @Timeout(60) // or it would wait for ever
  void whoeverFollowsItIsTold() throws Exception {
    Rig rig = rig(6, 2);
    Log log = open(rig);
    long messages = Lines.settled(log).size();
    Log other = store(rig).createLog(new LogName("other"));
    Removal unused = remove(log);
    HorizonChain.Link end = other.horizon().end(); // so that it does not hold the cut back
    assertEquals(1, end.record().number());
    for (List<Log> logs : List.of(List.of(log), List.of(other, log))) {
      try (Messages following = store(rig).follow(logs, Instant.EPOCH)) {
        for (long i = 0; i < messages; i++) {
          assertNotNull(following.next());
        }
        var e = assertThrows(UncheckedIOException.class, following::hasNext);
        assertInstanceOf(LogRemovedException.class, e.getCause());
        assertFalse(following.hasNext());
      }
    }
  }

  @Test
  void itsFilesGoADayLaterAndTheTombstoneStays() throws Exception {
    Rig rig = rig(6, 3);
    Log log = open(rig);
    Retiring.aggregate(rig);
    rig.time.advanceMs(7_200_000);
    new Retention(log, Retiring.HOUR).run();
    Lines.write(rig, 5, 5);
    List<String> all = Lines.settled(log);
    Removal removal = remove(log);
    assertEquals(log.id(), removal.log());
    Store store = store(rig);
    var deleting = new RemovedLogFiles(store);
    assertEquals(0, deleting.delete(Rig.JOBS, true, p -> {}));
    assertEquals(all, Lines.settled(log)); // who reads it now finishes
    rig.time.advanceMs(Duration.ofDays(2).toMillis());
    Path root = log.context().layout().root().path();
    Path foreign = log.context().layout().segments().resolve("notes.txt").path();
    PosixStore.of(store.context().storage()).fs().create(foreign, 0600).close();
    List<Path> before = files(log, root);
    var named = new ArrayList<Name>();
    long count = deleting.delete(Rig.JOBS, false, named::add);
    assertEquals(count, named.size());
    assertEquals(before, files(log, root));
    assertEquals(count, deleting.delete(Rig.JOBS, true, p -> {}));
    assertEquals(0, deleting.delete(Rig.JOBS, true, p -> {}));
    List<String> left = files(log, root).stream().map(p -> p.getFileName().toString()).toList();
    assertTrue(left.contains("removed") && left.contains("0000000005"), left.toString());
    assertTrue(left.contains("notes.txt"), left.toString()); // which is somebody's
    assertEquals(4, left.size(), left.toString()); // and the last record's seal
    assertEquals(List.of(), verify(rig));
    try (LogWriter writer = log.writer(Durability.SYNC)) { // one that slept through all that
      assertInstanceOf(Receipt.Rejected.class, append(writer, "late"));
    }
    assertTrue(deleting.delete(Rig.JOBS, true, p -> {}) > 0);
    assertEquals(List.of(), store.whole(store.freshLogs()));
    assertThrows(LogRemovedException.class, () -> store.createLog(Rig.JOBS));
    Log next = store.createLog(new LogName("next"));
    assertTrue(next.context().created() <= rig.time.wallNanos());
  }

  /** Neither a mark nor a checkpoint is left there, and the notice is (rule O8). */
  @Test
  void h8_aLateWriterOfAnObjectStoreFindsTheNotice() throws Exception {
    ManualTime time = ManualTime.ticking();
    Storage objects = Rig.objects(time);
    Store store = Rig.open(objects, time, "a");
    Log log = store.createLog(Rig.JOBS);
    long width = store.settings().bucketWidthNanos();
    var bucket = new Bucket(Bucket.floor(time.wallNanos(), width), width);
    var file = new DataFileName(new MachineName("late"), new Id(1, 2));
    Entered late =
        objects.enter(
            LogLayout.dataFile(log.context().layout().bucket(bucket), file), Durability.SYNC);
    late.append(new ByteBuffer[] {ByteBuffer.wrap(new byte[10])});
    assertEquals(Mark.UNSURE, late.look());
    assertEquals(Mark.OPEN, late.look());
    Removal unused = remove(log);
    time.advanceNanos(Duration.ofDays(2).toNanos());
    var files = new ArrayList<Name>();
    assertTrue(new RemovedLogFiles(store).delete(Rig.JOBS, true, files::add) > 0);
    assertTrue(files.stream().anyMatch(name -> name.last().equals("prelock")), files.toString());
    assertEquals(Mark.UNSURE, late.look());
  }

  /** Else a late writer would look for one that comes when marks are gone already. */
  @Test
  void o8_noticeIsGivenBeforeACheckpointIsPublished() throws Exception {
    ManualTime time = ManualTime.ticking();
    var puts = new ArrayList<String>();
    Storage objects =
        Rig.objects(
            new FakeObjects(time),
            inner ->
                new PassingObjects(inner) {
                  @Override
                  public boolean put(String key, ByteBuffer... body) throws IOException {
                    if (key.contains("/notices/") || key.contains("/checkpoints/")) {
                      puts.add(key.replaceFirst(".*/horizon/", ""));
                    }
                    return super.put(key, body);
                  }
                },
            time);
    Log log = Rig.open(objects, time, "a").createLog(Rig.JOBS);
    try (LogWriter writer = log.writer(Durability.SYNC)) {
      assertInstanceOf(Receipt.Committed.class, append(writer, "before"));
    }
    time.advanceNanos(Duration.ofMinutes(1).toNanos());
    var settled = log.horizon().advance(log.horizon().reachable(), OptionalLong.empty());
    assertNotNull(settled);
    assertEquals(1, new Aggregator(log).run().published());
    assertNotNull(new Retention(log, Duration.ZERO).run());
    assertEquals(List.of("notices/9999999998", "checkpoints/0000000001"), puts);
  }
}
