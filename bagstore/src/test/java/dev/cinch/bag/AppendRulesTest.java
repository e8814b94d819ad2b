package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Fault;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.fs.FaultyFs.Op;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.bag.write.MessageRefusedException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Rules A1 to A4 and A6; each test is named after its rule. */
class AppendRulesTest {
  private final Rig rig = rig();
  private final FaultyFs fs = new FaultyFs(rig.disk.view(Rig.ALICE));
  private final Ledger ledger = new Ledger();

  private static Rig rig() {
    try {
      return Rig.memory(7);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private LogWriter writer() throws IOException {
    return rig.open(fs).writer(Durability.SYNC);
  }

  private void finish() throws Exception {
    Log other = rig.open(rig.disk.view(Rig.BOB));
    rig.settle(other);
    ledger.check(Ledger.settled(other));
  }

  private static Path path(Log log, Receipt receipt) {
    var c = assertInstanceOf(Receipt.Committed.class, receipt);
    return LogLayout.dataFile(log.context().layout().bucket(c.bucket()), c.file()).path();
  }

  @ParameterizedTest
  @EnumSource(
      value = Kind.class,
      names = {"WRITE", "FORCE"})
  void a1_anErrorOfWriteOrForceIsResolvedFromTheRecord(Kind kind) throws Exception {
    LogWriter writer = writer();
    fs.arm(1, Fault.ERROR_AFTER, op -> op.is(kind, ".log"));
    // The bytes are there, whole, and forced or soon will be: so the record says COMMITTED.
    assertInstanceOf(Receipt.Committed.class, ledger.append(writer, "after"));
    assertTrue(fs.trace().stream().anyMatch(op -> op.is(Kind.LINK, "0000000001")));
    fs.arm(1, Fault.ERROR_BEFORE, op -> op.is(Kind.WRITE, ".log"));
    assertInstanceOf(Receipt.Rejected.class, ledger.append(writer, "before"));
    finish();
  }

  @Test
  void n4_anErrorOfClosingAFileConcernsNoneOfItsBatches() throws Exception {
    LogWriter writer = writer();
    Log log = rig.open(fs);
    Path left = path(log, ledger.append(writer, "one"));
    rig.time.advanceMs(10_000);
    fs.arm(1, Fault.ERROR_AFTER, op -> op.is(Kind.CLOSE, left.getFileName().toString()));
    Path next = path(log, ledger.append(writer, "two"));
    assertTrue(fs.fired());
    assertNotEquals(left.getParent(), next.getParent());
    assertFalse(fs.trace().stream().anyMatch(op -> op.kind() == Kind.LINK)); // no verdict needed
    finish();
  }

  @Test
  void a1_aFileStaysOpenForItsBucketAndNoLonger() throws Exception {
    LogWriter writer = writer();
    for (int i = 0; i < 3; i++) {
      ledger.append(writer, "m" + i);
    }
    assertEquals(1, count(Kind.CREATE));
    assertEquals(0, count(Kind.OVERWRITE));
    assertEquals(1, open());
    fs.arm(1, Fault.ERROR_AFTER, op -> op.is(Kind.FORCE, ".log"));
    ledger.append(writer, "fails");
    assertEquals(0, open());
    ledger.append(writer, "another");
    rig.time.advanceMs(10_000);
    ledger.append(writer, "next bucket");
    assertEquals(1, open());
    fs.beforeFirst(
        op -> op.is(Kind.WRITE, ".log"), () -> rig.settle(rig.open(rig.disk.view(Rig.BOB))));
    ledger.append(writer, "closed under it");
    assertEquals(0, open());
    ledger.append(writer, "last");
    assertEquals(1, open());
    writer.close();
    assertEquals(0, open());
    finish();
  }

  private long count(Kind kind) {
    return fs.trace().stream().filter(op -> op.is(kind, ".log")).count();
  }

  /** Handles of data files, readers' too. */
  private long open() {
    return count(Kind.CREATE)
        + count(Kind.OVERWRITE)
        + count(Kind.READ)
        + count(Kind.READ_UNCACHED)
        - count(Kind.CLOSE);
  }

  @Test
  void a1_anErrorBeforeTheFirstByteMeansRejectedAtOnce() throws Exception {
    LogWriter writer = writer();
    fs.arm(1, Fault.ERROR_AFTER, op -> op.is(Kind.CREATE, ".log"));
    assertInstanceOf(Receipt.Rejected.class, ledger.append(writer, "early"));
    assertFalse(fs.trace().stream().anyMatch(op -> op.kind() == Kind.LINK));
    finish();
  }

  @Test
  void a1_anAppendStaysPendingWhileTheStoreCannotBeReached() throws Exception {
    LogWriter writer = writer();
    var failures = new int[1];
    var reachable = new boolean[] {true};
    fs.before(
        op -> {
          if (op.is(Kind.FORCE, ".log") && failures[0] == 0) {
            reachable[0] = false;
          }
          if (!reachable[0]) {
            if (++failures[0] > 100) {
              reachable[0] = true;
              return;
            }
            throw new IOException("server not responding");
          }
        });
    assertInstanceOf(Receipt.Committed.class, ledger.append(writer, "patient"));
    assertTrue(failures[0] > 100);
    finish();
  }

  @Test
  void a2_afterAFailedWriteTheFileIsNeverAppendedToAgain() throws Exception {
    LogWriter writer = writer();
    Log log = rig.open(fs);
    Path first = path(log, ledger.append(writer, "one"));
    fs.arm(1, Fault.ERROR_PARTIAL, op -> op.is(Kind.WRITE, ".log"));
    assertInstanceOf(Receipt.Rejected.class, ledger.append(writer, "torn"));
    byte[] torn = rig.disk.content(first);
    Path next = path(log, ledger.append(writer, "next"));
    assertEquals(first.getParent(), next.getParent());
    assertNotEquals(first.getFileName(), next.getFileName());
    assertArrayEquals(torn, rig.disk.content(first));
    finish();
  }

  @Test
  void a3_aRejectedMessageCanBeSentAgainAndExistsOnce() throws Exception {
    LogWriter writer = writer();
    ledger.append(writer, "first");
    Log closer = rig.open(rig.disk.view(Rig.BOB));
    // Closed between the opening of the file and the write, which succeeds all the same.
    fs.beforeFirst(op -> op.is(Kind.WRITE, ".log"), () -> rig.settle(closer));
    byte[] again = {'a', 'g', 'a', 'i', 'n'};
    var rejected = assertInstanceOf(Receipt.Rejected.class, writer.append(again));
    Receipt second = ledger.append(writer, "again", again);
    assertTrue(second.timestamp() > rejected.timestamp());
    assertInstanceOf(Receipt.Committed.class, second);
    finish();
  }

  @Test
  void a4_withoutTheHeaderOfThisFileNothingIsValid() throws Exception {
    LogWriter writer = writer();
    Log log = rig.open(fs);
    Path file = path(log, ledger.append(writer, "one"));
    byte[] content = rig.disk.content(file);
    Path twin = file.resolveSibling("m9" + file.getFileName().toString().substring(2));
    fs.create(twin, 0664).close(); // another machine's name, every checksum right
    rig.disk.put(twin, 0, content);
    rig.time.advanceMs(1_000);
    Path later = path(log, ledger.append(writer, "two"));
    Path moved = later.resolveSibling(file.getFileName());
    fs.create(moved, 0664).close(); // the right name in another bucket
    rig.disk.put(moved, 0, content);
    finish();
  }

  @Test
  void a4_aFrameCopiedToAnotherPlaceIsNotTakenForOne() throws Exception {
    LogWriter writer = writer();
    LogWriter other = writer();
    Log log = rig.open(fs);
    byte[] large = Ledger.payload("large", 40_000);
    Path a = path(log, ledger.append(writer, "large", large));
    byte[] content = rig.disk.content(a);
    Path b = path(log, ledger.append(other, "small"));
    // The trailer of a batch written in two steps proves what is before it: at its own place only.
    byte[] trailer = Arrays.copyOfRange(content, content.length - 48, content.length);
    rig.disk.put(a, content.length, trailer);
    // The same trailer at its own offset in a file of the same shape, by another incarnation.
    byte[] head = rig.disk.content(b);
    rig.disk.put(b, head.length, new byte[content.length - head.length - 48]);
    rig.disk.put(b, content.length - 48, trailer);
    Log closer = rig.open(rig.disk.view(Rig.BOB));
    rig.settle(closer);
    ledger.check(Ledger.settled(closer));
  }

  @Test
  void a4_aFrameInAPayloadIsNotTakenForOne() throws Exception {
    LogWriter writer = writer();
    Log log = rig.open(fs);
    Path file = path(log, ledger.append(writer, "one", Ledger.payload("one", 20_000)));
    byte[] content = rig.disk.content(file);
    int size = content.length;
    ledger.append(writer, "two", content); // never found under that name: checked below
    // Cut so that the file ends exactly with the copied trailer.
    int end = size + 20 + 16 + content.length;
    rig.disk.truncate(file, end);
    Log closer = rig.open(rig.disk.view(Rig.BOB));
    rig.settle(closer);
    assertEquals(List.of("one"), Ledger.settled(closer).stream().map(Ledger.Found::text).toList());
  }

  @Test
  void a4_aMessageOverTheLimitIsRefusedBeforeAnythingIsWritten() throws Exception {
    LogWriter writer = writer();
    fs.clearTrace();
    int limit = rig.open(rig.disk.view(Rig.BOB)).context().store().settings().messageLimit();
    assertThrows(MessageRefusedException.class, () -> writer.append(new byte[limit + 1]));
    assertEquals(List.of(), fs.trace());
    assertInstanceOf(
        Receipt.Committed.class, ledger.append(writer, "max", Ledger.payload("max", limit)));
    finish();
  }

  private int last(List<Op> trace, Kind kind, String name) {
    for (int i = trace.size() - 1; i >= 0; i--) {
      if (trace.get(i).is(kind, name)) {
        return i;
      }
    }
    throw new AssertionError("no " + kind + " of " + name + " in " + trace);
  }

  @Test
  void a6_thePrelockIsLookedAtAfterEveryBatchIsVisible() throws Exception {
    LogWriter writer = writer();
    for (int i = 0; i < 3; i++) {
      fs.clearTrace();
      ledger.append(writer, "m" + i);
      List<Op> trace = fs.trace();
      assertTrue(last(trace, Kind.STATUS, "prelock") > last(trace, Kind.FORCE, ".log"));
    }
    // And what it sees decides: a mark set between write and look.
    Log closer = rig.open(rig.disk.view(Rig.BOB));
    fs.beforeFirst(op -> op.is(Kind.READ_UNCACHED, "prelock"), () -> rig.settle(closer));
    ledger.append(writer, "marked");
    assertTrue(fs.trace().stream().anyMatch(op -> op.is(Kind.READ, "lock")), "not step 5");
    finish();
  }

  @Test
  void a6_anotherPrelockOfTheSameNameIsNoPrelock() throws Exception {
    LogWriter writer = writer();
    Log log = rig.open(fs);
    Path file = path(log, ledger.append(writer, "one"));
    Path prelock = file.resolveSibling("prelock");
    fs.beforeFirst(
        op -> op.is(Kind.READ_UNCACHED, "prelock"),
        () -> { // a bucket retired and made again; the inode number is used again, too
          long before = rig.disk.view(0).status(prelock).inode();
          rig.disk.view(0).unlink(prelock);
          rig.disk.view(Rig.ALICE).create(prelock, 0664).close();
          assertEquals(before, rig.disk.view(0).status(prelock).inode());
        });
    ledger.append(writer, "two");
    assertTrue(fs.trace().stream().anyMatch(op -> op.is(Kind.LINK, "lock")), "not step 5");
    finish();
  }

  @Test
  void a6_everyProcessLooksAtTheHorizonForItselfIntentsFirst() throws Exception {
    for (int process = 0; process < 2; process++) {
      LogWriter writer = writer();
      fs.clearTrace();
      ledger.append(writer, "p" + process);
      List<Op> trace = fs.trace();
      int intents = last(trace, Kind.LIST, "intents");
      assertTrue(intents > last(trace, Kind.FORCE, ".log"));
      assertTrue(last(trace, Kind.LIST, "records") > intents);
    }
  }

  @Test
  void a6_whoSawAMarkKeepsNoMemoryOfHavingPassed() throws Exception {
    var lag = new AtomicLong();
    LogWriter writer = rig.open(fs, rig.time.lagging(lag)).writer(Durability.SYNC);
    ledger.append(writer, "before"); // and its clock was compared
    rig.time.advanceMs(11_000);
    lag.set(10_000_000_000L);
    // A closer leaves an intent that reaches the writer's bucket, and no prelock.
    var stopped = new FaultyFs(rig.disk.view(Rig.BOB));
    Log closer = rig.open(stopped);
    stopped.arm(
        1,
        Fault.CRASH_AFTER,
        op -> op.kind() == Kind.CREATE && op.path().toString().contains("intents"));
    long to = closer.horizon().reachable();
    assertThrows(FaultyFs.Crash.class, () -> closer.horizon().advance(to, OptionalLong.empty()));
    // The first batch sees it; while its verdict is out, a second one in the bucket must, too.
    var receipts = new ArrayList<Receipt>();
    fs.beforeFirst(
        op -> op.kind() == Kind.MKDIR && op.path().toString().contains("clock"),
        () -> {
          fs.clearTrace();
          receipts.add(ledger.append(writer, "second"));
          assertTrue(last(fs.trace(), Kind.LIST, "intents") > last(fs.trace(), Kind.FORCE, ".log"));
          assertTrue(fs.trace().stream().anyMatch(op -> op.is(Kind.LINK, "0000000001")));
        });
    receipts.add(ledger.append(writer, "first"));
    assertEquals(
        ((Receipt.Committed) receipts.get(0)).bucket(),
        ((Receipt.Committed) receipts.get(1)).bucket());
    finish();
  }
}
