package dev.cinch.bag.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Rig;
import dev.cinch.bag.close.HorizonAdvance;
import dev.cinch.bag.close.HorizonChain;
import dev.cinch.bag.close.HorizonChain.Link;
import dev.cinch.bag.close.Locks;
import dev.cinch.bag.close.TooEarlyException;
import dev.cinch.bag.format.BucketLock;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.storage.memory.MemoryLog;
import dev.cinch.bag.store.LogContext;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.bag.write.Timestamps;
import dev.cinch.lease.Altered;
import dev.cinch.lease.Id;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The protocol over a storage that has no file, no mode and no cache. */
@SuppressWarnings("NullAway.Init")
class MemoryProtocolTest {
  private static final long SECOND = 1_000_000_000L;

  private Rig rig;
  private MemoryLog storage;

  @BeforeEach
  void make() throws Exception {
    rig = Rig.memory(3);
    storage = new MemoryLog(rig.time);
  }

  /** Another process of its own, whose bags are in memory. */
  private LogContext open() throws Exception {
    LogContext log = rig.open(rig.disk.view(Rig.ALICE)).context();
    return Altered.with(log, "storage", storage);
  }

  private LogWriter writer() throws Exception {
    return new LogWriter(open(), new Timestamps(rig.time), Durability.SYNC);
  }

  private static Receipt append(LogWriter writer, String text) throws Exception {
    return writer.append(text.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void whatWasCommittedIsInTheLocks() throws Exception {
    var receipts = new ArrayList<Receipt>();
    try (LogWriter one = writer();
        LogWriter two = writer()) {
      for (int i = 0; i < 20; i++) {
        receipts.add(append(i % 2 == 0 ? one : two, "message " + i));
        rig.time.advanceNanos(SECOND / 3);
      }
    }
    rig.time.advanceNanos(10 * SECOND);
    LogContext log = open();
    var horizon = new HorizonAdvance(log);
    Link tip = horizon.advance(horizon.reachable(), OptionalLong.of(rig.time.wallNanos()));
    assertEquals(tip.record(), new HorizonChain(open()).freshTip().orElseThrow().record());
    assertEquals(List.of(), storage.announced(LogStorage.Freshness.CERTAIN));
    long messages = 0;
    for (ClosedBucket bucket : tip.record().buckets()) {
      messages += new Locks(open()).readListed(bucket).lock().messages();
    }
    assertEquals(20, messages);
    receipts.forEach(r -> assertInstanceOf(Receipt.Committed.class, r));
  }

  @Test
  void anAppendThatMeetsAMarkReadsItsVerdict() throws Exception {
    try (LogWriter writer = writer()) {
      var before = assertInstanceOf(Receipt.Committed.class, append(writer, "before"));
      Bucket bucket = Bucket.of(before.timestamp(), open().bucketWidth());
      LogContext log = open();
      // A closer that measures now, as far as it gets before its bucket is over.
      Announcement intent = storage.announce(bucket.end(), Id.random(new Random(1)));
      try (Closing closing = storage.seal(bucket)) {
        Receipt late = append(writer, "late");
        assertTrue(late.timestamp() > before.timestamp());
        BucketLock lock =
            new Locks(log).read(bucket).orElseThrow().lock(); // the writer has closed it
        assertEquals(late instanceof Receipt.Committed ? 2 : 1, lock.messages());
      }
      intent.withdraw();
    }
  }

  @Test
  void nobodySettlesTheFuture() throws Exception {
    var horizon = new HorizonAdvance(open());
    assertThrows(
        TooEarlyException.class,
        () -> horizon.advance(rig.time.wallNanos() + SECOND, OptionalLong.empty()));
    assertEquals(List.of(), storage.announced(LogStorage.Freshness.CERTAIN));
  }
}
