package dev.cinch.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.fs.FaultyFs.Op;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.write.LogWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

/**
 * Writers that sleep until their bucket was retired get the right verdict from the segment, also
 * when another late writer has made the bucket again (rules R1, R3).
 */
class LateWriterTest {
  private static Receipt append(Log log, String text) throws Exception {
    try (LogWriter writer = log.writer(Durability.CLOSE)) {
      return writer.append(text.getBytes(StandardCharsets.UTF_8));
    }
  }

  private interface Meanwhile {
    void run() throws Exception;
  }

  /** Lets a process do something else before its first operation of a kind. */
  private static FaultyFs pausedBefore(Rig rig, Predicate<Op> when, Meanwhile meanwhile) {
    var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
    boolean[] done = {false};
    faulty.before(
        op -> {
          if (!done[0] && when.test(op)) {
            done[0] = true;
            try {
              meanwhile.run();
            } catch (Exception e) {
              throw new AssertionError(e);
            }
          }
        });
    return faulty;
  }

  private static void retire(Rig rig) throws Exception {
    Log log = rig.open(rig.disk.view(Rig.BOB));
    rig.settle(log);
    assertTrue(new Aggregator(log).run().published() > 0);
    rig.time.advanceMs(7_200_000);
    // A superuser: the bucket is another user's.
    assertTrue(new Retention(rig.open(rig.disk.view(0)), Duration.ofHours(1)).run().buckets() > 0);
  }

  /** The look at the prelock after the write: append, step 4. */
  private static boolean looksAtPrelock(Op op, boolean[] wrote) {
    wrote[0] |= op.kind() == Kind.WRITE;
    return wrote[0] && op.path().endsWith("prelock");
  }

  @Test
  void r1_whoWasVisibleWhenTheBucketWasClosedIsCommitted() throws Exception {
    Rig rig = Rig.memory(1);
    boolean[] wrote = {false};
    FaultyFs fs = pausedBefore(rig, op -> looksAtPrelock(op, wrote), () -> retire(rig));
    Receipt receipt = append(rig.open(fs), "in time");
    assertInstanceOf(Receipt.Committed.class, receipt);
    List<String> lines = Lines.settled(rig.open(rig.disk.view(Rig.BOB)));
    assertEquals(1, lines.size());
    assertTrue(lines.get(0).endsWith("in time"));
  }

  @Test
  void r1_whoHadNotWrittenYetIsRejected() throws Exception {
    Rig rig = Rig.memory(2);
    FaultyFs fs = pausedBefore(rig, op -> op.kind() == Kind.WRITE, () -> retire(rig));
    assertInstanceOf(Receipt.Rejected.class, append(rig.open(fs), "late"));
    assertEquals(List.of(), Lines.settled(rig.open(rig.disk.view(Rig.BOB))));
  }

  @Test
  void r3_whoKeptItsFileOpenThroughARetirementIsRejected() throws Exception {
    Rig rig = Rig.memory(5);
    int[] writes = {0};
    FaultyFs fs =
        pausedBefore(rig, op -> op.is(Kind.WRITE, ".log") && ++writes[0] == 2, () -> retire(rig));
    LogWriter writer = rig.open(fs).writer(Durability.SYNC);
    assertInstanceOf(
        Receipt.Committed.class, writer.append("in time".getBytes(StandardCharsets.UTF_8)));
    assertInstanceOf(
        Receipt.Rejected.class, writer.append("late".getBytes(StandardCharsets.UTF_8)));
    assertEquals(1, Lines.settled(rig.open(rig.disk.view(Rig.BOB))).size());
  }

  @Test
  void r1_whoComesToABucketThatNeverWasIsRejected() throws Exception {
    Rig rig = Rig.memory(3);
    FaultyFs fs =
        pausedBefore(
            rig,
            op -> op.kind() == Kind.MKDIR && op.path().toString().contains("buckets"),
            () -> {
              rig.time.advanceMs(5_000);
              Lines.write(rig, 3, 3);
              retire(rig);
            });
    assertInstanceOf(Receipt.Rejected.class, append(rig.open(fs), "late"));
    assertEquals(3, Lines.settled(rig.open(rig.disk.view(Rig.BOB))).size());
  }

  @Test
  void r3_aBucketMadeAgainByAnotherLateWriterMisleadsNobody() throws Exception {
    Rig rig = Rig.memory(4);
    var asleep = new CountDownLatch(1);
    var awake = new CountDownLatch(1);
    FaultyFs secondFs =
        pausedBefore(
            rig,
            op -> op.kind() == Kind.MKDIR && op.path().toString().contains("buckets"),
            () -> {
              asleep.countDown();
              awake.await();
            });
    Log second = rig.open(secondFs);
    CompletableFuture<Receipt> late =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                return append(second, "late");
              } catch (Exception e) {
                throw new AssertionError(e);
              }
            });
    asleep.await();
    boolean[] wrote = {false};
    Receipt[] ofSecond = new Receipt[1];
    FaultyFs firstFs =
        pausedBefore(
            rig,
            op -> looksAtPrelock(op, wrote),
            () -> {
              retire(rig);
              awake.countDown();
              ofSecond[0] = late.get();
            });
    Log first = rig.open(firstFs);
    Receipt receipt = append(first, "in time");
    assertInstanceOf(Receipt.Committed.class, receipt);
    assertInstanceOf(Receipt.Rejected.class, ofSecond[0]);
    // Both were of the same bucket, which stands there again, with a prelock and a data file.
    var bucket = ((Receipt.Committed) receipt).bucket();
    List<String> again =
        PosixStore.of(second.context().store().storage())
            .fs()
            .list(first.context().layout().bucket(bucket).path());
    assertEquals(2, again.size(), again.toString());
    Log log = rig.open(rig.disk.view(Rig.BOB));
    assertEquals(1, Lines.settled(log).size());
    assertEquals(1, new Retention(rig.open(rig.disk.view(0)), Duration.ofHours(1)).run().buckets());
    assertEquals(1, Lines.settled(log).size());
  }
}
