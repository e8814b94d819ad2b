package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.fs.ClockedFs;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Fault;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.fs.SharedFs;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.bag.write.MessageRefusedException;
import dev.cinch.bag.write.PendingReceipt;
import dev.cinch.lease.time.ForwardingTime;
import dev.cinch.lease.time.ManualTime;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Section 1: a process's timestamps strictly increase over what was written; and a clock that was
 * off for a while holds nobody up once it is right again.
 */
class TimestampRulesTest {
  private static final long SECOND = 1_000_000_000L;
  private static final long TEN_MINUTES = 600 * SECOND;

  private Rig rig;
  private FaultyFs fs;
  private Log log;
  private LogWriter writer;
  private final Ledger ledger = new Ledger();
  private volatile long skew;
  private volatile Runnable duringSleep = () -> {};

  @BeforeEach
  void start() throws Exception {
    rig = Rig.memory(11);
    fs = new FaultyFs(rig.disk.view(Rig.ALICE));
    log = rig.open(fs, clock());
    writer = log.writer(Durability.SYNC);
  }

  /** The process's clock, off by {@link #skew}. */
  private TimeSource clock() {
    return new ForwardingTime(rig.time) {
      @Override
      public long wallNanos() {
        return rig.time.wallNanos() + skew;
      }

      @Override
      public void sleepNanos(long nanos) {
        duringSleep.run();
        rig.time.sleepNanos(nanos);
      }
    };
  }

  private void rejected(Receipt receipt) {
    assertInstanceOf(Receipt.Rejected.class, receipt);
  }

  /** A message that is written now, with a timestamp of now. */
  private Receipt.Committed committedNow(LogWriter to, String text) throws Exception {
    long began = rig.time.wallNanos();
    var receipt = assertInstanceOf(Receipt.Committed.class, ledger.append(to, text));
    long took = rig.time.wallNanos() - began;
    assertTrue(took < SECOND, "it took " + took / 1e9 + " s");
    long off = Math.abs(receipt.timestamp() - rig.time.wallNanos());
    assertTrue(off < SECOND, "its timestamp is off by " + off / 1e9 + " s");
    return receipt;
  }

  private void finish() throws Exception {
    Log other = rig.open(rig.disk.view(Rig.BOB));
    rig.settle(other);
    ledger.check(Ledger.settled(other));
  }

  @Test
  void section1_whatWasRefusedForAWrongClockGivesItsTimestampsBack() throws Exception {
    skew = TEN_MINUTES;
    for (int i = 0; i < 3; i++) {
      rejected(ledger.append(writer, "ahead " + i));
      rig.time.advanceMs(1_000);
    }
    skew = 0;
    committedNow(writer, "right again");
    finish();
  }

  @Test
  void section1_aBatchOfUnclearFateKeepsItsTimestamps() throws Exception {
    // Where what was written may arrive late.
    fs = new FaultyFs(new SharedFs(rig.disk.view(Rig.ALICE)));
    writer = rig.open(fs, clock()).writer(Durability.SYNC);
    Receipt first = committedNow(writer, "first");
    fs.arm(1, Fault.ERROR_BEFORE, op -> op.is(Kind.WRITE, ".log"));
    Receipt unclear = ledger.append(writer, "unclear");
    rejected(unclear); // in the end; the write was tried
    assertTrue(unclear.timestamp() > first.timestamp());
    skew = unclear.timestamp() - rig.time.wallNanos() - SECOND / 10; // back before the attempt
    Receipt next = ledger.append(writer, "next");
    assertTrue(next.timestamp() > unclear.timestamp());
    finish();
  }

  /** A file server that was just started may not know the time yet. */
  @Test
  void a1_oneWrongLookAtTheServersClockDelaysNoVerdict() throws Exception {
    var behind = new AtomicLong();
    var server = new ClockedFs(rig.disk.view(Rig.ALICE), rig.time.skewed(behind));
    fs = new FaultyFs(server);
    writer = rig.open(fs, clock()).writer(Durability.SYNC);
    fs.beforeFirst(
        op -> op.is(Kind.WRITE, ".log"),
        () -> {
          behind.set(-50 * 365 * 86_400 * SECOND);
          throw new IOException("the server stopped");
        });
    duringSleep = () -> behind.set(0);
    long began = rig.time.wallNanos();
    rejected(ledger.append(writer, "unclear"));
    long took = rig.time.wallNanos() - began;
    assertTrue(took < 20 * SECOND, "it took " + took / 1e9 + " s");
    finish();
  }

  @Test
  void section1_whatOthersStillHaveIsNotGivenBack() throws Exception {
    Store store = Store.open(rig.root, rig.environment(fs, clock()));
    LogWriter jobs = store.log(Rig.JOBS).writer(Durability.SYNC);
    LogWriter more = store.createLog(new LogName("more")).writer(Durability.SYNC);
    PendingReceipt waits = jobs.submit(LeaseStamp.NONE, new byte[] {1}, 0, 1, false);
    rig.time.advanceMs(5);
    fs.arm(1, Fault.ERROR_BEFORE, op -> op.is(Kind.CREATE, ".log"));
    Receipt refused = more.append(new byte[] {2});
    rejected(refused);
    skew = -100_000_000;
    Receipt next = more.append(new byte[] {3});
    assertInstanceOf(Receipt.Committed.class, next);
    assertTrue(next.timestamp() > waits.timestamp());
    assertTrue(next.timestamp() < refused.timestamp());
    assertInstanceOf(Receipt.Committed.class, waits.await());
  }

  @Test
  void section1_aRefusedBatchGivesBackOnlyWhatIsAboveTheBatchesBehindIt() throws Exception {
    var entering = new CountDownLatch(1);
    var gathered = new CountDownLatch(1);
    fs.beforeFirst(
        op -> op.is(Kind.CREATE, ".log"),
        () -> {
          entering.countDown();
          gathered.await();
          throw new IOException("refused");
        });
    PendingReceipt first = writer.submit(LeaseStamp.NONE, new byte[] {1}, 0, 1);
    entering.await();
    PendingReceipt behind = writer.submit(LeaseStamp.NONE, new byte[] {2}, 0, 1, false);
    gathered.countDown();
    rejected(first.await());
    skew = -100_000_000;
    PendingReceipt next = writer.submit(LeaseStamp.NONE, new byte[] {3}, 0, 1, false);
    assertTrue(next.timestamp() > behind.timestamp());
    assertInstanceOf(Receipt.Committed.class, behind.await());
    assertInstanceOf(Receipt.Committed.class, next.await());
  }

  @Test
  void section1_aTimestampThatTheLeaseDoesNotAllowIsNotTaken() throws Exception {
    var stamp = new LeaseStamp(List.of(), Long.MIN_VALUE, rig.time.wallNanos() + 60 * SECOND);
    skew = TEN_MINUTES;
    assertThrows(MessageRefusedException.class, () -> writer.append(stamp, new byte[1]));
    skew = 0;
    committedNow(writer, "right again");
    finish();
  }

  @Test
  void section5_aClockThatWasSetSinceItWasComparedIsComparedAgain() throws Exception {
    committedNow(writer, "right");
    rig.time.advanceMs(1_000);
    skew = TEN_MINUTES;
    rejected(ledger.append(writer, "ahead"));
    skew = 0;
    committedNow(writer, "right again");
    finish();
  }

  @Test
  void section2_whatWaitedWhileTheClockWasSetBackIsNotWrittenIntoTheFuture() throws Exception {
    skew = TEN_MINUTES;
    PendingReceipt ahead = writer.submit(LeaseStamp.NONE, new byte[1], 0, 1, false);
    skew = 0;
    rejected(ahead.await());
    committedNow(writer, "right again");
    finish();
  }

  @Test
  void section2_whoWaitsForTheClockNoticesThatItWasSet() throws Exception {
    committedNow(writer, "right");
    skew = -TEN_MINUTES;
    var slept = new AtomicInteger();
    duringSleep =
        () -> {
          if (slept.incrementAndGet() == 1) {
            skew = 0;
          }
        };
    committedNow(writer, "right again");
    assertEquals(1, slept.get());
    finish();
  }

  @Test
  void section2_whoWaitsForTheClockNoticesThatTimestampsWereGivenBack() throws Exception {
    skew = TEN_MINUTES;
    PendingReceipt ahead = writer.submit(LeaseStamp.NONE, new byte[1], 0, 1, false);
    skew = 0;
    duringSleep = () -> rejected(ahead.await());
    committedNow(writer, "right again");
    assertTrue(rig.time.wallNanos() < ManualTime.START + 10 * SECOND);
    finish();
  }
}
