package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.close.CloseBlockedException;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Fault;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.fs.FaultyFs.Op;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.write.LogWriter;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Rules C1 to C6; each test is named after its rule. */
class CloseRulesTest {
  private final Rig rig = rig();
  private final Ledger ledger = new Ledger();

  private static Rig rig() {
    try {
      return Rig.memory(11);
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

  private Path append(LogWriter writer, String text, int length) throws Exception {
    Receipt r = ledger.append(writer, text, Ledger.payload(text, length));
    var c = assertInstanceOf(Receipt.Committed.class, r);
    return LogLayout.dataFile(alice().context().layout().bucket(c.bucket()), c.file()).path();
  }

  @Test
  void c1_theCloserThatLostActsOnWhatTheLockSays() throws Exception {
    var slow = new FaultyFs(rig.disk.view(Rig.BOB));
    Log loser = rig.open(slow);
    LogWriter writer = alice().writer(Durability.SYNC);
    Path file = append(writer, "one", 0);
    Path lock = file.resolveSibling("lock");
    var held = new ArrayList<byte[]>();
    slow.beforeFirst(
        op -> op.is(Kind.LINK, "lock"),
        () -> {
          // The winner finds a file that the loser did not.
          Path late = file.resolveSibling("late-" + "0".repeat(32) + ".log");
          rig.disk.view(0).create(late, 0664).close();
          // And dies, so that it removes no file of the loser and leaves no record.
          var dies = new FaultyFs(rig.disk.view(Rig.BOB));
          dies.arm(1, Fault.CRASH_AFTER, op -> op.is(Kind.LINK, "lock"));
          Log winner = rig.open(dies);
          assertThrows(FaultyFs.Crash.class, () -> rig.settle(winner));
          held.add(rig.disk.content(lock));
        });
    rig.settle(loser);
    assertArrayEquals(held.get(0), rig.disk.content(lock));
    ledger.check(Ledger.settled(loser));
    ledger.check(Ledger.settled(alice()));
  }

  @Test
  void c1_aLockIsForcedBeforeItIsLinkedAndSoIsARecord() throws Exception {
    var fs = new FaultyFs(rig.disk.view(Rig.BOB));
    LogWriter writer = alice().writer(Durability.SYNC);
    append(writer, "one", 0);
    rig.settle(rig.open(fs));
    List<Op> trace = fs.trace();
    for (int i = 0; i < trace.size(); i++) {
      if (trace.get(i).kind() == Kind.LINK) {
        Kind before = null;
        for (Op op : trace.subList(0, i)) {
          if (op.path().startsWith(trace.get(i).path().resolveSibling(""))
              && (op.kind() == Kind.WRITE || op.kind() == Kind.FORCE)) {
            before = op.kind();
          }
        }
        assertEquals(Kind.FORCE, before, "before " + trace.get(i));
      }
    }
  }

  @Test
  void c2_bytesPastTheValidLengthDoNotExist() throws Exception {
    var fs = new FaultyFs(rig.disk.view(0)); // a superuser: no mode stops it
    LogWriter writer = rig.open(fs).writer(Durability.SYNC);
    Path file = append(writer, "one", 0);
    int valid = rig.disk.content(file).length;
    fs.beforeFirst(op -> op.is(Kind.WRITE, ".log"), () -> rig.settle(bob()));
    assertInstanceOf(Receipt.Rejected.class, ledger.append(writer, "late"));
    assertTrue(rig.disk.content(file).length > valid, "the late batch is whole and in the file");
    ledger.check(Ledger.settled(bob()));
    var live = new ArrayList<Long>();
    bob()
        .reader()
        .live(Long.MIN_VALUE, Long.MAX_VALUE, m -> live.add(m.timestamp()), (m, f, why) -> {});
    assertEquals(1, live.size());
  }

  /**
   * Steps 1 to 4: wherever a closer stands, an append that ends then is in the lock or rejected.
   */
  @Test
  void closing_anAppendThatEndsBetweenTwoStepsIsNotLost() throws Exception {
    int k = 0;
    while (endsBefore(k)) {
      k++;
    }
    assertTrue(k > 20, k + " operations");
  }

  /** An append ends before that operation of a closer; false if there were not so many. */
  private static boolean endsBefore(int k) throws Exception {
    Rig rig = Rig.memory(k);
    var ledger = new Ledger();
    var writing = new FaultyFs(rig.disk.view(Rig.ALICE));
    LogWriter writer = rig.open(writing).writer(Durability.SYNC);
    ledger.append(writer, "early");
    var closing = new FaultyFs(rig.disk.view(Rig.BOB));
    Log closer = rig.open(closing);
    var reached = new CompletableFuture<Boolean>();
    var goesOn = new CompletableFuture<Boolean>();
    var left = new AtomicInteger(k);
    closing.before(
        op -> {
          if (left.getAndDecrement() == 0) {
            reached.complete(true);
            goesOn.join();
          }
        });
    var closes =
        new FutureTask<Boolean>(
            () -> {
              try {
                rig.settle(closer);
              } finally {
                reached.complete(false);
              }
              return true;
            });
    writing.beforeFirst(
        op -> op.is(Kind.WRITE, ".log"),
        () -> {
          new Thread(closes, "closer").start();
          boolean unused = reached.join();
        });
    ledger.append(writer, "late");
    goesOn.complete(true);
    boolean unused = closes.get();
    ledger.check(Ledger.settled(closer));
    return reached.join();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 20_000})
  void c4_aBatchThatIsNotWholeAtTheEndIsATornEnd(int length) throws Exception {
    for (int hole = 0; hole < 3; hole++) {
      LogWriter writer = alice().writer(Durability.SYNC);
      Path file = append(writer, "one" + hole + length, length);
      int end = rig.disk.content(file).length;
      byte[] payload = Ledger.payload("lost", 100);
      assertInstanceOf(Receipt.Committed.class, writer.append(payload));
      // Its pieces came out of order: the size covers a hole, in head, payload or trailer.
      int at = hole == 0 ? end : hole == 1 ? end + 60 : rig.disk.content(file).length - 30;
      rig.disk.put(file, at, new byte[16]);
      rig.settle(bob());
      ledger.check(Ledger.settled(bob())); // and nothing is reported
    }
  }

  /** What is damaged keeps nothing behind it, and every reader tells where it was. */
  @ParameterizedTest
  @ValueSource(ints = {0, 20_000})
  void c4_aBatchThatIsNotWholeBeforeAnotherOneIsAHole(int length) throws Exception {
    LogWriter writer = alice().writer(Durability.SYNC);
    Path file = append(writer, "one", length);
    int end = rig.disk.content(file).length;
    byte[] payload = Ledger.payload("lost", 100);
    assertInstanceOf(Receipt.Committed.class, writer.append(payload));
    int next = rig.disk.content(file).length;
    append(writer, "three", length);
    rig.disk.put(file, end + 60, new byte[16]);
    Path other = append(alice().writer(Durability.SYNC), "beside it", 0);
    assertEquals(file.getParent(), other.getParent());
    rig.settle(bob());
    var found = new ArrayList<Ledger.Found>();
    var e = assertThrows(DamagedException.class, () -> Ledger.settled(bob(), found::add));
    assertEquals(Name.of(file), e.path());
    assertEquals(end, e.offset());
    assertEquals("whole batches up to byte " + next + ", with 1 messages", e.expected());
    ledger.check(found);
    // So is a reader that wants no more of that bucket.
    var early =
        assertThrows(
            DamagedException.class,
            () ->
                bob()
                    .reader()
                    .settled(Long.MIN_VALUE, Long.MAX_VALUE, m -> false, (m, damaged, why) -> {}));
    assertEquals(e.getMessage(), early.getMessage());
  }

  @Test
  void c5_closingNeedsNoChmod() throws Exception {
    for (int writerUid : List.of(0, Rig.ALICE)) {
      var writerFs = new FaultyFs(rig.disk.view(writerUid));
      LogWriter writer = rig.open(writerFs).writer(Durability.SYNC);
      append(writer, "before " + writerUid, 0);
      var closerFs = new FaultyFs(rig.disk.view(Rig.BOB));
      closerFs.before(
          op -> {
            if (op.kind() == Kind.CHMOD) {
              throw new AccessDeniedException("chmod");
            }
          });
      Log closer = rig.open(closerFs);
      writerFs.beforeFirst(op -> op.is(Kind.WRITE, ".log"), () -> rig.settle(closer));
      assertInstanceOf(Receipt.Rejected.class, ledger.append(writer, "late " + writerUid));
      append(writer, "next " + writerUid, 0);
      rig.settle(closer);
      ledger.check(Ledger.settled(bob()));
    }
  }

  /** Step 5: what closers left that were killed. */
  @Test
  void closing_whatACloserLeftGoesWithTheNextOne() throws Exception {
    Path file = append(alice().writer(Durability.SYNC), "one", 0);
    Path left = file.resolveSibling(Name.TEMPORARY_PREFIX + "0".repeat(32));
    StoreFs fs = rig.disk.view(Rig.ALICE);
    fs.create(left, 0660).close();
    rig.settle(bob());
    assertThrows(NoSuchFileException.class, () -> fs.status(left));
  }

  /** Whoever retires a bucket is seldom the one that closed it. */
  @Test
  void c5_whateverOneUserClosedAnotherOneMayRemove() throws Exception {
    Path file = append(alice().writer(Durability.SYNC), "one", 0);
    Path bucket = Objects.requireNonNull(file.getParent());
    int open = rig.disk.view(0).status(bucket).mode();
    rig.settle(alice());
    assertEquals(open, rig.disk.view(0).status(bucket).mode());
    StoreFs fs = rig.disk.view(Rig.BOB);
    for (String name : fs.list(bucket)) {
      fs.unlink(bucket.resolve(name));
    }
    fs.rmdir(bucket);
  }

  @Test
  void c6_modesAreThoseOfTheStoreAndNeverWidened() throws Exception {
    append(alice().writer(Durability.SYNC), "one", 0);
    rig.settle(bob());
    append(bob().writer(Durability.SYNC), "two", 0);
    StoreFs fs = rig.disk.view(0);
    Deque<Path> todo = new ArrayDeque<>(List.of(rig.root));
    int seen = 0;
    while (!todo.isEmpty()) {
      Path path = todo.pop();
      int mode = fs.status(path).mode();
      boolean directory = true;
      try {
        fs.list(path).forEach(name -> todo.add(path.resolve(name)));
      } catch (IOException e) {
        directory = false;
      }
      int open = directory ? 02775 : 0664;
      assertTrue(mode == open || mode == (open & ~0222), path + " " + Integer.toOctalString(mode));
      seen++;
    }
    assertTrue(seen > 20);
  }

  @Test
  void c6_whatCannotBeReadStopsClosingAndNamesFileAndRemedy() throws Exception {
    Path file = append(alice().writer(Durability.SYNC), "one", 0);
    rig.disk.view(Rig.ALICE).chmod(file, 0600);
    Log closer = bob();
    var e = assertThrows(CloseBlockedException.class, () -> rig.settle(closer));
    assertTrue(e.toString().contains(file.toString()), e.toString());
    assertTrue(e.toString().contains("chmod g+rw"), e.toString());
    assertEquals(List.of(), Ledger.settled(closer));
    rig.disk.view(Rig.ALICE).chmod(file, 0660);
    rig.settle(closer);
    ledger.check(Ledger.settled(closer));
  }

  @Test
  void c1_aLinkThatReportsAnErrorAndTookEffectIsNoLoss() throws Exception {
    for (String name : List.of("lock", "0000000002")) {
      append(alice().writer(Durability.SYNC), name, 0);
      var fs = new FaultyFs(rig.disk.view(Rig.BOB));
      fs.arm(1, Fault.ERROR_AFTER, op -> op.is(Kind.LINK, name));
      Log closer = rig.open(fs);
      if (name.equals("lock")) {
        rig.settle(closer); // at once: the truth is what the name holds
      } else {
        assertThrows(IOException.class, () -> rig.settle(closer));
        rig.settle(closer);
      }
      ledger.check(Ledger.settled(closer));
    }
  }
}
