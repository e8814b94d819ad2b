package dev.cinch.bag.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Ledger;
import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.fs.FaultyFs.Op;
import dev.cinch.bag.fs.FilterFs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.Receipt;
import dev.cinch.lease.Altered;
import dev.cinch.lease.Id;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.time.ForwardingTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A storage that is full is one event, whatever was to be made or written (section 2). */
@Timeout(600)
class FullStorageTest {
  private static final EnumSet<Kind> TAKING =
      EnumSet.of(Kind.MKDIR, Kind.CREATE, Kind.LINK, Kind.WRITE, Kind.FORCE);

  /** Above what is written in one step. */
  private static final int LONG = 20_000;

  private final Ledger ledger = new Ledger();

  private static IOException full(Op op, String why) {
    return new FileSystemException(op.path().toString(), null, why);
  }

  private static FaultyFs remote(Rig rig) {
    return new FaultyFs(
        new FilterFs(rig.disk.view(Rig.ALICE)) {
          @Override
          public boolean isLocal(Path file) {
            return false;
          }
        });
  }

  private static FaultyFs local(Rig rig) {
    return new FaultyFs(rig.disk.view(Rig.ALICE));
  }

  private static PendingReceipt submit(LogWriter writer, String text, int length)
      throws MessageRefusedException {
    byte[] payload = Ledger.payload(text, length);
    return writer.submit(LeaseStamp.NONE, payload, 0, payload.length, false);
  }

  /** Full at one operation after the other of an append, each time for three tries. */
  @Test
  void whereverItIsFullTheAppendWaitsAndNothingIsLost() throws Exception {
    for (String why : List.of("No space left on device", "Disk quota exceeded")) {
      for (boolean far : new boolean[] {false, true}) {
        for (int k = 0; fullAt(k, why, far); k++) {}
      }
    }
  }

  private boolean fullAt(int k, String why, boolean far) throws Exception {
    Rig rig = Rig.memory(k);
    FaultyFs fs = far ? remote(rig) : local(rig);
    Log log = rig.open(fs);
    LogWriter writer = log.writer(Durability.SYNC);
    var told = new Ledger();
    told.append(writer, "before");
    rig.time.advanceNanos(log.context().bucketWidth());
    var seen = new AtomicInteger();
    var tries = new AtomicInteger(3);
    var at = new ArrayList<Op>();
    fs.before(
        op -> {
          if (!TAKING.contains(op.kind()) || tries.get() == 0) {
            return;
          }
          if (at.isEmpty() && seen.getAndIncrement() == k) {
            at.add(op);
          }
          if (!at.isEmpty()) { // for everything, from there on
            tries.decrementAndGet();
            throw full(op, why);
          }
        });
    Receipt receipt = told.append(writer, "full", Ledger.payload("full", k % 2 == 0 ? 50 : LONG));
    boolean done = at.isEmpty();
    fs.before(op -> {});
    told.append(writer, "after");
    writer.close();
    rig.settle(rig.open(rig.disk.view(Rig.BOB)));
    told.check(Ledger.settled(log));
    // What was handed to a remote kernel may arrive late, and what was not forced is there.
    boolean sure = !done && (!far || at.get(0).kind() != Kind.WRITE);
    if (sure && at.get(0).kind() != Kind.FORCE) {
      assertInstanceOf(Receipt.Committed.class, receipt, at + ": " + receipt);
    }
    return !done;
  }

  @Test
  void nothingPassesAMessageThatWaits() throws Exception {
    for (Predicate<Op> which :
        List.<Predicate<Op>>of(op -> op.is(Kind.CREATE, ".log"), op -> op.is(Kind.WRITE, ".log"))) {
      Rig rig = Rig.memory(3);
      FaultyFs fs = local(rig);
      var tries = new AtomicInteger();
      var pending = new ArrayList<PendingReceipt>();
      var time =
          new ForwardingTime(rig.time) {
            @Override
            public void sleepNanos(long nanos) {
              tries.incrementAndGet();
              assertTrue(pending.stream().noneMatch(PendingReceipt::isDone));
              rig.time.sleepNanos(nanos);
            }
          };
      Log log = rig.open(fs, time);
      LogWriter writer = log.writer(Durability.SYNC);
      for (String text : List.of("one", "two", "three")) {
        pending.add(submit(writer, text, 10));
        rig.time.advanceNanos(log.context().bucketWidth());
      }
      var first = new ArrayList<Path>();
      fs.before(
          op -> {
            if (which.test(op)) { // a quota of the first bucket's directory
              if (first.isEmpty()) {
                first.add(op.path().getParent());
              }
              if (first.get(0).equals(op.path().getParent()) && tries.get() < 5) {
                throw full(op, "Disk quota exceeded");
              }
            }
          });
      for (PendingReceipt one : pending) {
        assertInstanceOf(Receipt.Committed.class, one.await());
      }
      assertEquals(5, tries.get());
    }
  }

  @Test
  void nothingPassesAMessageThatMayArriveLate() throws Exception {
    Rig rig = Rig.memory(9);
    FaultyFs fs = remote(rig);
    LogWriter writer = rig.open(fs).writer(Durability.SYNC);
    PendingReceipt first = submit(writer, "first", 10);
    rig.time.advanceNanos(rig.open(fs).context().bucketWidth());
    PendingReceipt second = submit(writer, "second", 10);
    var writes = new Semaphore(1);
    fs.before(
        op -> {
          if (op.is(Kind.WRITE, ".log") && writes.tryAcquire()) {
            throw full(op, "No space left on device");
          }
        });
    assertInstanceOf(Receipt.Committed.class, second.await());
    assertTrue(first.isDone());
    writer.close();
  }

  /** Or a disk without bytes would lose its inodes too. */
  @Test
  void aFileInWhichNothingIsIsUsedAgainAndItsWitnessesAreWritten() throws Exception {
    Rig rig = Rig.memory(4);
    FaultyFs fs = local(rig);
    Log log = rig.open(fs);
    LogWriter writer = log.writer(Durability.SYNC);
    var random = new Random(5);
    var witness =
        new WitnessSigner(SigningKey.ofSeed(new byte[32]))
            .sign(
                Altered.with(
                    Altered.first("n", "holder", Id.random(random), 1, 1_000),
                    "logs",
                    LogSet.of(List.of(log.id()))));
    var stamp = new LeaseStamp(List.of(witness), Long.MIN_VALUE, Long.MAX_VALUE);
    var tries = new AtomicInteger(20);
    fs.before(
        op -> {
          if (op.is(Kind.WRITE, ".log") && tries.getAndDecrement() > 0) {
            throw full(op, "No space left on device");
          }
        });
    assertInstanceOf(Receipt.Committed.class, writer.append(stamp, new byte[] {1}));
    assertEquals(1, fs.trace().stream().filter(op -> op.is(Kind.CREATE, ".log")).count());
    assertInstanceOf(Receipt.Committed.class, writer.append(new byte[] {2}));
    rig.settle(log);
    assertEquals(2, Ledger.settled(log).size());
  }

  /** Gives up once the writer has met the operation, and says what it told of each message. */
  private List<Object> givenUp(Rig rig, FaultyFs fs, Predicate<Op> which, String why, int length)
      throws Exception {
    var met = new CountDownLatch(1);
    var go = new CountDownLatch(1);
    var time =
        new ForwardingTime(rig.time) {
          @Override
          public void sleepNanos(long nanos) throws InterruptedException {
            met.countDown();
            go.await();
            rig.time.sleepNanos(nanos);
          }
        };
    LogWriter writer = rig.open(fs, time).writer(Durability.SYNC);
    fs.before(
        op -> {
          if (which.test(op)) {
            throw full(op, why);
          }
        });
    PendingReceipt first = submit(writer, "first", length);
    var told = new ArrayList<Object>();
    var waiter =
        new Thread(
            () -> {
              try {
                told.add(first.await().getClass());
              } catch (FateUnknownException e) {
                told.add(FateUnknownException.class);
              }
            });
    waiter.start();
    met.await();
    PendingReceipt second = submit(writer, "second", 10);
    writer.giveUp("enough");
    go.countDown();
    waiter.join();
    told.add(second.await().getClass());
    assertThrows(MessageRefusedException.class, () -> submit(writer, "third", 10));
    if (told.contains(FateUnknownException.class)) {
      assertThrows(FateUnknownException.class, writer::close);
    } else {
      writer.close();
    }
    fs.before(op -> {});
    Log closer = rig.open(rig.disk.view(Rig.BOB));
    rig.settle(closer);
    assertEquals(List.of(), Ledger.settled(closer));
    return told;
  }

  /** A writer that gives up looks what is there, and is sure where nobody can ever measure it. */
  @Test
  void whoGivesUpKnowsTheFateOfWhatCanNotBeThere() throws Exception {
    String none = "No space left on device";
    var both = List.<Object>of(Receipt.Rejected.class, Receipt.Rejected.class);
    var unsure = List.<Object>of(FateUnknownException.class, Receipt.Rejected.class);
    Predicate<Op> making = op -> op.is(Kind.CREATE, ".log");
    Predicate<Op> writing = op -> op.is(Kind.WRITE, ".log");
    Rig rig = Rig.memory(6);
    for (int length : new int[] {10, LONG}) {
      for (String why : List.of(none, "Input/output error")) {
        assertEquals(both, givenUp(rig, local(rig), writing, why, length), "nothing was written");
      }
      assertEquals(both, givenUp(rig, local(rig), making, none, length));
      assertEquals(both, givenUp(rig, remote(rig), making, none, length));
    }
    for (int length : new int[] {10, LONG}) {
      assertEquals(unsure, givenUp(rig, remote(rig), writing, none, length), "it may arrive late");
    }
  }

  @Test
  void whatIsWholeIsNotCalledAbsent() throws Exception {
    Rig rig = Rig.memory(7);
    FaultyFs fs = local(rig);
    Log log = rig.open(fs);
    var forces = new Semaphore(1);
    fs.before(
        op -> {
          if (op.is(Kind.FORCE, ".log") && forces.tryAcquire()) {
            throw full(op, "No space left on device");
          }
        });
    assertInstanceOf(Receipt.Committed.class, ledger.append(log.writer(Durability.SYNC), "whole"));
    rig.settle(log);
    ledger.check(Ledger.settled(log));
  }

  @Test
  void whatIsWaitedForIsSaid() throws Exception {
    Rig rig = Rig.memory(8);
    FaultyFs fs = local(rig);
    var said = new ArrayList<String>();
    var writer = new LogWriter[1];
    var time =
        new ForwardingTime(rig.time) {
          @Override
          public void sleepNanos(long nanos) {
            said.add(writer[0].waitsFor().replaceAll(".*: ", ""));
            rig.time.sleepNanos(nanos);
          }
        };
    writer[0] = rig.open(fs, time).writer(Durability.SYNC);
    fs.before(
        op -> {
          if (op.is(Kind.CREATE, ".log") && said.size() < 2) {
            throw full(op, "Disk quota exceeded");
          }
        });
    assertInstanceOf(Receipt.Committed.class, writer[0].append(new byte[1]));
    assertEquals(List.of("Disk quota exceeded", "Disk quota exceeded"), said);
    assertEquals("", writer[0].waitsFor());
    assertFalse(said.isEmpty());
  }
}
