package dev.cinch.bag.write;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Ledger;
import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.fs.SharedFs;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.Receipt;
import dev.cinch.lease.Altered;
import dev.cinch.lease.Id;
import dev.cinch.lease.LogSet;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.time.ForwardingTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What callers of one writer do to each other: sizes, errors, many threads. */
@Timeout(600)
class LogWriterTest {
  private final Ledger ledger = new Ledger();
  private Rig rig;
  private FaultyFs fs;
  private Log log;
  private LogWriter writer;

  @BeforeEach
  void start() throws Exception {
    rig = Rig.memory(17);
    fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    log = rig.open(fs);
    writer = log.writer(Durability.SYNC);
  }

  @Test
  void bytesThatAPayloadHasNotDoNoHarmToTheMessagesBesideThem() throws Exception {
    PendingReceipt before = submit("before");
    assertThrows(
        IndexOutOfBoundsException.class,
        () -> writer.submit(LeaseStamp.NONE, new byte[10], 5, 10, false));
    assertThrows(
        IndexOutOfBoundsException.class,
        () -> writer.submit(LeaseStamp.NONE, new byte[10], 0, -1, false));
    assertInstanceOf(Receipt.Committed.class, before.await());
    ledger.append(writer, "after");
    rig.settle(log);
    assertEquals(
        List.of("before", "after"), Ledger.settled(log).stream().map(Ledger.Found::text).toList());
  }

  @Test
  void aBatchThatReadersWouldNotTakeIsNotWritten() throws IOException {
    var empty = new PendingBatch(bucket(), new ReentrantLock().newCondition(), null);
    BucketFile file = file();
    var header =
        new FileHeader(log.context().store().identity().id(), log.id(), bucket(), file.name);
    assertThrows(IllegalStateException.class, () -> new BatchEncoder().encode(empty, file, header));
  }

  @Test
  void leasesThatABatchCannotHoldAreRefused() throws Exception {
    LeaseStamp large = stampOf(PendingBatch.MAX_LEASE_BYTES / witness().bytes().length + 1);
    var refused =
        assertThrows(MessageRefusedException.class, () -> writer.append(large, new byte[1]));
    assertEquals(
        "the witnesses of its leases take %d bytes, and a batch can hold %d: take fewer leases, or name fewer logs"
            .formatted(large.bytes(), PendingBatch.MAX_LEASE_BYTES),
        refused.getMessage());
    ledger.append(writer, "after");
    rig.settle(log);
    ledger.check(Ledger.settled(log));
  }

  @Test
  void leasesThatDoNotGoIntoOneBatchGoIntoTwo() {
    LeaseStamp first = stampOf(PendingBatch.MAX_LEASE_BYTES / witness().bytes().length / 2 + 1);
    LeaseStamp second = stampOf(first.witnesses().size());
    var batch = new PendingBatch(bucket(), new ReentrantLock().newCondition(), null);
    assertTrue(batch.hasRoom(first, 1));
    batch.add(1, first, new byte[1], 0, 1);
    assertTrue(batch.hasRoom(first, 1), "its witnesses are there already");
    assertTrue(batch.hasRoom(LeaseStamp.NONE, 1));
    assertFalse(batch.hasRoom(second, 1));
  }

  @Test
  void whatWasRejectedLeavesAsMuchRoomAsItTook() throws Exception {
    fs.before(
        op -> {
          if (op.kind() == Kind.CREATE) {
            throw new IOException("no space left");
          }
        });
    for (int i = 0; i < 20; i++) {
      assertInstanceOf(Receipt.Rejected.class, writer.append(new byte[1_000]));
    }
    assertEquals(0, writer.queuedBytes());
  }

  /** Or leases would be given back under which something may still appear. */
  @Test
  void flushSaysThatTheFateOfAMessageIsUnknown() throws Exception {
    var error = new OutOfMemoryError("made by a test");
    fs.before(
        op -> {
          if (op.is(Kind.FORCE, ".log")) {
            throw error;
          }
        });
    assertSame(error, assertThrows(OutOfMemoryError.class, () -> writer.append(new byte[1])));
    assertSame(error, assertThrows(IllegalStateException.class, writer::flush).getCause());
    assertSame(error, assertThrows(IllegalStateException.class, writer::close).getCause());
    assertEquals(0, fs.openFiles());
  }

  @Test
  void allWhoWaitForABatchAreToldThatItsFateIsUnknown() throws Exception {
    var begun = new CountDownLatch(1);
    var go = new Semaphore(0);
    fs.beforeFirst(
        op -> op.is(Kind.FORCE, ".log"),
        () -> {
          begun.countDown();
          go.acquire();
          throw new IllegalStateException("made by a test");
        });
    PendingReceipt one = submit("one");
    PendingReceipt two = submit("two");
    var first = new Thread(() -> assertThrows(IllegalStateException.class, one::await));
    first.start();
    begun.await();
    var told = new AtomicBoolean();
    var second =
        new Thread(
            () -> {
              assertThrows(IllegalStateException.class, two::await);
              told.set(true);
            });
    second.start();
    while (second.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
    go.release();
    first.join();
    second.join();
    assertTrue(told.get());
  }

  @Test
  void whoWaitsCommitsWhatNobodyWaitsForBeforeIt() throws Exception {
    var begun = new CountDownLatch(1);
    var go = new Semaphore(0);
    fs.beforeFirst(
        op -> op.is(Kind.CREATE, ".log"),
        () -> {
          begun.countDown();
          go.acquire();
        });
    Thread first = appending(1);
    begun.await();
    PendingReceipt later = // with it the batch is full
        writer.submit(LeaseStamp.NONE, new byte[900_000], 0, 900_000, false);
    Thread second = appending(300_000);
    while (second.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
    go.release();
    first.join();
    second.join();
    assertInstanceOf(Receipt.Committed.class, later.await());
  }

  /** The first write fails, and its verdict waits until the test says so. */
  private CountDownLatch unclear(Semaphore go) {
    var resolving = new CountDownLatch(1);
    var written = new AtomicBoolean();
    fs.before(
        op -> {
          if (op.is(Kind.WRITE, ".log") && written.compareAndSet(false, true)) {
            throw new IOException("made by a test");
          }
          String path = op.path().toString();
          boolean intent = path.contains("/intents/") && !path.contains("/tmp-");
          if (op.kind() == Kind.CREATE && intent && resolving.getCount() > 0) {
            resolving.countDown();
            go.acquireUninterruptibly();
          }
        });
    return resolving;
  }

  @Test
  void aMessageOfUnclearFateHoldsUpNoneThatNobodyWaitsFor() throws Exception {
    for (boolean waited : new boolean[] {false, true}) {
      start();
      var go = new Semaphore(0);
      CountDownLatch resolving = unclear(go);
      PendingReceipt first = writer.submit(LeaseStamp.NONE, new byte[1], 0, 1, !waited);
      var waiter = new Thread(() -> assertInstanceOf(Receipt.Rejected.class, first.await()));
      if (waited) {
        waiter.start();
      }
      resolving.await();
      long before = writer.queuedBytes();
      PendingReceipt second = writer.submit(LeaseStamp.NONE, new byte[1], 0, 1, true);
      while (writer.queuedBytes() > before) {
        Thread.onSpinWait();
      }
      assertInstanceOf(Receipt.Committed.class, second.await());
      go.release();
      assertInstanceOf(Receipt.Rejected.class, first.await());
      if (waited) {
        waiter.join();
      }
      writer.close();
    }
  }

  @Test
  void whoWaitsForOneMessageDoesNotWaitForTheVerdictOfAnother() throws Exception {
    CountDownLatch resolving = unclear(new Semaphore(1));
    PendingReceipt first = submit("first");
    rig.time.advanceNanos(log.context().bucketWidth()); // another bucket
    assertInstanceOf(Receipt.Committed.class, writer.append(new byte[1]));
    assertEquals(1, resolving.getCount());
    writer.flush();
    assertEquals(0, resolving.getCount(), "who flushes looks after all of them");
    assertInstanceOf(Receipt.Rejected.class, first.await());
  }

  /** Or a session that shares its writer with busy ones would never give its leases back. */
  @Test
  void flushDoesNotWaitForWhatOthersSubmitMeanwhile() throws Exception {
    var more = new AtomicInteger(20);
    fs.before(
        op -> {
          if (op.is(Kind.WRITE, ".log") && more.getAndDecrement() > 0) {
            submitUnchecked("more");
          }
        });
    PendingReceipt first = submit("first");
    writer.flush();
    assertTrue(first.isDone());
    assertEquals(19, more.get());
  }

  @Test
  void whoWaitsForRoomMakesIt() throws Exception {
    var submitted = new ArrayList<PendingReceipt>();
    var submitter =
        new Thread(
            () -> {
              for (int i = 0; i < 20; i++) {
                submitted.add(submitUnchecked("m".repeat(1 << 20)));
              }
            });
    submitter.setDaemon(true);
    submitter.start();
    while (submitter.isAlive() && submitter.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
    assertFalse(submitter.isAlive(), "nobody else is there to write");
    writer.flush();
    for (PendingReceipt one : submitted) {
      assertInstanceOf(Receipt.Committed.class, one.await());
    }
  }

  /** Also where others commit what is left when it is closed. */
  @Test
  void theThreadOfAWriterEndsWithIt() throws Exception {
    List<Thread> before = committers();
    assertInstanceOf(
        Receipt.Committed.class, writer.submit(LeaseStamp.NONE, new byte[1], 0, 1, true).await());
    List<Thread> threads = committers();
    threads.removeAll(before);
    assertEquals(1, threads.size());
    Thread background = threads.get(0);
    var begun = new CountDownLatch(1);
    var go = new Semaphore(0);
    fs.beforeFirst(
        op -> op.is(Kind.WRITE, ".log"),
        () -> {
          begun.countDown();
          go.acquire();
        });
    Thread first = appending(1);
    begun.await();
    PendingReceipt second = submit("second");
    var waiter = new Thread(() -> assertInstanceOf(Receipt.Committed.class, second.await()));
    waiter.start();
    untilWaiting(waiter);
    untilWaiting(background);
    long waits = waits(background);
    var closer = new Thread(writer::close);
    closer.start();
    untilWaiting(closer);
    while (waits(background) == waits) {
      Thread.onSpinWait(); // it looks, and finds that somebody else writes
    }
    untilWaiting(background);
    go.release();
    first.join();
    waiter.join();
    closer.join();
    background.join();
  }

  /** The threads of all writers of this process. */
  private static List<Thread> committers() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(t -> t.getName().startsWith("cinch-commit-"))
        .collect(Collectors.toCollection(ArrayList::new));
  }

  private static void untilWaiting(Thread thread) {
    while (thread.isAlive() && thread.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
  }

  private static long waits(Thread thread) {
    return ManagementFactory.getThreadMXBean().getThreadInfo(thread.getId()).getWaitedCount();
  }

  /** Or a disk that is full would make one for each message. */
  @Test
  void oneThreadLooksAfterAllVerdictsOfABucket() throws Exception {
    List<Thread> before = committers();
    var attempts = new Semaphore(0);
    var go = new CountDownLatch(1);
    fs.before(
        op -> {
          if (op.is(Kind.WRITE, ".log")) {
            attempts.release();
            throw new IOException("made by a test");
          }
          if (op.kind() == Kind.CREATE && op.path().toString().contains("/records/")) {
            awaitUnchecked(go);
          }
        });
    var pending = new ArrayList<PendingReceipt>();
    List<Thread> threads = List.of();
    for (int i = 0; i < 10; i++) {
      pending.add(writer.submit(LeaseStamp.NONE, new byte[1], 0, 1, true));
      attempts.acquire();
      threads = committers();
      threads.removeAll(before);
      threads.forEach(LogWriterTest::untilWaiting);
    }
    assertEquals(2, threads.size(), "one that writes, and one that waits for verdicts");
    go.countDown();
    for (PendingReceipt one : pending) {
      while (!one.isDone()) {
        Thread.onSpinWait();
      }
      assertInstanceOf(Receipt.Rejected.class, one.await());
    }
    writer.close();
  }

  /** Its first message is told its fate although there is always somebody who waits for another. */
  @Test
  void busyCallersDoNotPutOffAVerdictThatNobodyWaitsFor() throws Exception {
    fs = new FaultyFs(new SharedFs(rig.disk.view(Rig.ALICE))); // what was written may arrive late
    writer = rig.open(fs).writer(Durability.SYNC);
    assertInstanceOf(
        Receipt.Committed.class, writer.submit(LeaseStamp.NONE, new byte[1], 0, 1, true).await());
    var begun = new CountDownLatch(1);
    var go = new CountDownLatch(1);
    var judged = new CountDownLatch(1);
    var writes = new AtomicInteger();
    fs.before(
        op -> {
          if (op.is(Kind.WRITE, ".log")) {
            int n = writes.incrementAndGet();
            if (n == 1) {
              begun.countDown();
              awaitUnchecked(go);
            } else if (n == 2) {
              throw new IOException("made by a test");
            } else if (n > 2) {
              awaitUnchecked(judged);
            }
          } else if (op.kind() == Kind.CREATE && op.path().toString().contains("/intents/")) {
            if (Thread.currentThread().getName().startsWith("cinch-commit-")) {
              judged.countDown();
            }
          }
        });
    Thread first = appending(1);
    begun.await();
    PendingReceipt unclear = // with it the batch is full
        writer.submit(LeaseStamp.NONE, new byte[900_000], 0, 900_000, true);
    Thread second = appending(300_000);
    untilWaiting(second);
    Thread third = appending(1);
    untilWaiting(third);
    go.countDown();
    first.join();
    second.join();
    third.join();
    assertInstanceOf(Receipt.Rejected.class, unclear.await());
    writer.close();
  }

  private static void awaitUnchecked(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** A writer that failed while another thread wrote, and keeps nothing open. */
  @Test
  void closingAfterAFailureWaitsForWhoWritesAndLetsGoOfTheFile() throws Exception {
    var begun = new CountDownLatch(1);
    var go = new CountDownLatch(1);
    var writes = new AtomicInteger();
    var failed = new AtomicBoolean();
    fs.before(
        op -> {
          if (op.is(Kind.WRITE, ".log")) {
            if (writes.incrementAndGet() == 1) {
              throw new IOException("made by a test");
            }
            begun.countDown();
            awaitUnchecked(go);
          } else if (op.path().toString().contains("/records/") && !failed.getAndSet(true)) {
            awaitUnchecked(begun);
            throw new IllegalStateException("made by a test");
          }
        });
    PendingReceipt unclear = submit("unclear");
    var judge = new Thread(() -> assertThrows(IllegalStateException.class, unclear::await));
    judge.start();
    while (writes.get() == 0) {
      Thread.onSpinWait();
    }
    Thread second = appending(1);
    judge.join();
    var closer = new Thread(() -> assertThrows(IllegalStateException.class, writer::close));
    closer.start();
    untilWaiting(closer);
    go.countDown();
    second.join();
    closer.join();
    long made = fs.trace().stream().filter(op -> op.is(Kind.CREATE, ".log")).count();
    assertEquals(made, fs.trace().stream().filter(op -> op.is(Kind.CLOSE, ".log")).count());
  }

  @Test
  void anErrorWhileAVerdictIsReadLeavesTheFateUnknown() throws Exception {
    fs.before(
        op -> {
          if (op.is(Kind.WRITE, ".log")) {
            throw new IOException("made by a test");
          }
          if (op.kind() == Kind.CREATE && op.path().toString().contains("/records/")) {
            throw new OutOfMemoryError("made by a test");
          }
        });
    assertThrows(OutOfMemoryError.class, () -> writer.append(new byte[1]));
    assertThrows(IllegalStateException.class, writer::flush);
  }

  @Test
  void aWriterThatFailedSaysSo() throws Exception {
    fs.before(
        op -> {
          if (op.is(Kind.FORCE, ".log")) {
            throw new OutOfMemoryError("made by a test");
          }
        });
    assertThrows(OutOfMemoryError.class, () -> writer.append(new byte[1]));
    var refused = assertThrows(MessageRefusedException.class, () -> writer.append(new byte[1]));
    assertEquals(
        "the writer failed before and takes no more messages: java.lang.OutOfMemoryError: made by a"
            + " test",
        refused.getMessage());
  }

  /** Its caller waits for the clock while somebody closes the writer. */
  @Test
  void whatComesAfterClosingIsRefused() throws Exception {
    long ahead = rig.time.wallNanos() + 1_000_000_000L;
    var stamp = new LeaseStamp(Collections.nCopies(1, witness()), ahead, Long.MAX_VALUE);
    var duringSleep = new AtomicReference<Runnable>(() -> {});
    var clock =
        new ForwardingTime(rig.time) {
          @Override
          public void sleepNanos(long nanos) {
            requireNonNull(duringSleep.get()).run();
            rig.time.sleepNanos(nanos);
          }
        };
    LogWriter closed = rig.open(fs, clock).writer(Durability.SYNC);
    duringSleep.set(closed::close);
    var refused =
        assertThrows(
            MessageRefusedException.class, () -> closed.submit(stamp, new byte[1], 0, 1, true));
    assertEquals("the writer is closed", refused.getMessage());
  }

  /** Also where that turns out to be there: then it is sent again, and comes after it. */
  @Test
  void whatFollowsAMessageOfUnclearFateIsRejected() throws Exception {
    var forced = new AtomicBoolean();
    fs.before(
        op -> {
          if (op.is(Kind.FORCE, ".log") && forced.compareAndSet(false, true)) {
            throw new IOException("made by a test");
          }
        });
    PendingReceipt first = submit("first");
    PendingReceipt beside = behind("beside", first);
    rig.time.advanceNanos(log.context().bucketWidth()); // another bucket, so another batch
    PendingReceipt second = behind("second", beside);
    PendingReceipt third = behind("third", second);
    PendingReceipt other = submit("other");
    assertInstanceOf(Receipt.Rejected.class, third.await());
    assertInstanceOf(Receipt.Rejected.class, second.await());
    assertInstanceOf(Receipt.Rejected.class, other.await(), "of one batch with them");
    assertInstanceOf(Receipt.Committed.class, beside.await());
    assertInstanceOf(Receipt.Committed.class, first.await());
    rig.time.advanceNanos(log.context().bucketWidth());
    assertInstanceOf(Receipt.Committed.class, behind("second", beside).await());
    rig.settle(log);
    assertEquals(
        List.of("first", "beside", "second"),
        Ledger.settled(log).stream().map(Ledger.Found::text).toList());
    assertEquals(0, writer.queuedBytes());
  }

  @Test
  void whoGivesUpIsToldWhatIsNotThereAndWhatNobodyKnows() throws Exception {
    var resolving = new CountDownLatch(3);
    var full = new AtomicBoolean(true);
    fs.before(
        op -> {
          boolean intent = op.path().toString().contains("/intents/");
          if (full.get() && (op.is(Kind.FORCE, ".log") || op.kind() == Kind.CREATE && intent)) {
            resolving.countDown();
            throw new IOException("no space left");
          }
        });
    PendingReceipt unclear = submit("unclear");
    var waiting = new CountDownLatch(1);
    var thrown = new AtomicReference<FateUnknownException>();
    var waiter =
        new Thread(
            () -> {
              thrown.set(assertThrows(FateUnknownException.class, unclear::await));
              waiting.countDown();
            });
    waiter.start();
    resolving.await();
    PendingReceipt queued = submit("queued");
    writer.giveUp("nothing for an hour");
    assertEquals(
        "nothing for an hour", assertInstanceOf(Receipt.Rejected.class, queued.await()).reason());
    var refused = assertThrows(MessageRefusedException.class, () -> submit("after"));
    assertTrue(refused.isForGood());
    assertThrows(FateUnknownException.class, writer::flush);
    waiting.await();
    String why = String.valueOf(requireNonNull(thrown.get()).getMessage());
    assertEquals(
        "an append to log jobs may be there or not: nothing for an hour (no space left)", why);
    assertThrows(FateUnknownException.class, writer::close);
    full.set(false);
    rig.settle(rig.open(rig.disk.view(Rig.ALICE)));
    assertEquals(List.of("unclear"), Ledger.settled(log).stream().map(Ledger.Found::text).toList());
  }

  @Test
  void whoGivesUpWhereNothingWasWrittenClosesInPeace() throws Exception {
    PendingReceipt queued = submit("queued");
    writer.giveUp("enough");
    assertInstanceOf(Receipt.Rejected.class, queued.await());
    writer.close();
    assertEquals(0, writer.queuedBytes());
  }

  private PendingReceipt behind(String text, PendingReceipt before) throws MessageRefusedException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    return writer.submit(LeaseStamp.NONE, bytes, 0, bytes.length, false, before);
  }

  private PendingReceipt submit(String text) throws MessageRefusedException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    return writer.submit(LeaseStamp.NONE, bytes, 0, bytes.length, false);
  }

  private PendingReceipt submitUnchecked(String text) {
    try {
      return submit(text);
    } catch (MessageRefusedException e) {
      throw new IllegalStateException(e);
    }
  }

  private Thread appending(int length) {
    var thread =
        new Thread(
            () -> {
              try {
                assertInstanceOf(Receipt.Committed.class, writer.append(new byte[length]));
              } catch (MessageRefusedException e) {
                throw new IllegalStateException(e);
              }
            });
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  private Bucket bucket() {
    return Bucket.of(rig.time.wallNanos(), log.context().bucketWidth());
  }

  private BucketFile file() throws IOException {
    var name = new DataFileName(new MachineName("m"), Id.random(new Random(1)));
    Name file = LogLayout.dataFile(log.context().layout().bucket(bucket()), name);
    return new BucketFile(bucket(), name, log.context().storage().enter(file, Durability.CLOSE));
  }

  /** As long as witnesses get without a fence. */
  private static SignedWitness witness() {
    var random = new Random(5);
    var ids = new ArrayList<Id>();
    while (ids.size() < Witness.MAX_LOGS) {
      ids.add(Id.random(random));
    }
    return new WitnessSigner(SigningKey.ofSeed(new byte[32]))
        .sign(
            Altered.with(
                Altered.first("n", "holder", Id.random(random), 1, 1_000), "logs", LogSet.of(ids)));
  }

  private static LeaseStamp stampOf(int witnesses) {
    return new LeaseStamp(
        Collections.nCopies(witnesses, witness()), Long.MIN_VALUE, Long.MAX_VALUE);
  }
}
