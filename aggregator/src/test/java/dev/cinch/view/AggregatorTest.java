package dev.cinch.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.close.HorizonAdvance;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentEncoder;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Fault;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.read.Segments;
import dev.cinch.bag.storage.MemoryStore;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Share;
import dev.cinch.lease.time.ManualTime;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Any number of aggregators, stopped anywhere, publish each segment once. */
class AggregatorTest {
  private static Rig rig(long seed, int records) throws Exception {
    Rig rig = Rig.memory(seed);
    for (int i = 0; i < records; i++) {
      Lines.write(rig, 7, 5);
    }
    return rig;
  }

  private static Log open(Rig rig) throws IOException {
    return rig.open(rig.disk.view(Rig.BOB));
  }

  private static boolean isSegmentLink(Log log, FaultyFs.Op op) {
    return op.kind() == Kind.LINK && op.path().startsWith(log.context().layout().segments().path());
  }

  /** Runs something once, just before this log's first segment is linked. */
  private static Log interrupted(Rig rig, FaultyFs.Before meanwhile) throws IOException {
    var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
    Log log = rig.open(faulty);
    boolean[] done = {false};
    faulty.before(
        op -> {
          if (!done[0] && isSegmentLink(log, op)) {
            done[0] = true;
            meanwhile.operation(op);
          }
        });
    return log;
  }

  /** Their makers stop between linking and forcing; the power fails after the second. */
  @Test
  void noSegmentOutlivesTheOneBeforeIt() throws Exception {
    for (int seed = 0; seed < 20; seed++) {
      Rig rig = rig(seed, 1);
      stopAfterLinking("0000000001", rig);
      rig.settle(open(rig));
      stopAfterLinking("0000000002", rig);
      var random = new Random(seed);
      rig.disk.powerCut(random::nextBoolean);
      List<String> segments = Lines.segments(open(rig));
      assertEquals(Lines.settled(open(rig)).subList(0, segments.size()), segments, "seed " + seed);
    }
  }

  /** Who links a record stops before forcing it; then a segment is made of it. */
  @Test
  void noSegmentOutlivesItsRecords() throws Exception {
    Rig rig = Rig.memory(1);
    Lines.append(rig.open(rig.disk.view(Rig.ALICE)).writer(Durability.SYNC), "one");
    var stopped = new FaultyFs(rig.disk.view(Rig.BOB));
    Log closer = rig.open(stopped);
    stopped.arm(1, Fault.CRASH_AFTER, op -> op.is(Kind.LINK, "0000000001"));
    assertThrows(FaultyFs.Crash.class, () -> rig.settle(closer));
    assertEquals(1, new Aggregator(open(rig)).run().published());
    rig.disk.powerCut();
    assertEquals(Lines.segments(open(rig)), Lines.settled(open(rig)));
  }

  private static void stopAfterLinking(String name, Rig rig) throws IOException {
    var stopped = new FaultyFs(rig.disk.view(Rig.BOB));
    var aggregator = new Aggregator(rig.open(stopped));
    stopped.arm(1, Fault.CRASH_AFTER, op -> op.is(Kind.LINK, name));
    assertThrows(FaultyFs.Crash.class, () -> aggregator.run().published());
  }

  /** A segment, retiring, expiring and the audit of what is left, on a storage without a file. */
  @Test
  void whatIsOnNoDiskIsAggregatedAndRetired() throws Exception {
    ManualTime time = ManualTime.ticking();
    MemoryStore storage = Rig.storage(time);
    Store store = Rig.open(storage, time, "m");
    Log log = store.createLog(Rig.JOBS);
    for (int part = 1; part <= 2; part++) {
      try (LogWriter writer = log.writer(Durability.SYNC)) {
        for (int i = 0; i < 5; i++) {
          Lines.append(writer, part + "." + i);
          time.advanceMs(700);
        }
      }
      time.advanceMs(10_000);
      HorizonAdvance horizon = log.horizon();
      var unused = horizon.advance(horizon.reachable(), OptionalLong.of(time.wallNanos()));
      assertEquals(1, new Aggregator(log).run().published());
    }
    List<String> all = Lines.settled(log);
    assertEquals(10, all.size());
    assertTrue(new Retention(log, Duration.ZERO).run().buckets() >= 4);
    assertEquals(
        List.of(), log.context().buckets().all(Long.MIN_VALUE, Long.MAX_VALUE, end -> false));
    assertEquals(all, Lines.settled(log));
    assertEquals(1, new Expiry(log, Duration.ZERO).run(path -> {}).segments());
    assertEquals(all.subList(5, 10), Lines.settled(log));
    var found = new ArrayList<Finding>();
    assertEquals(5, StoreVerifier.verify(store, found::add).messages());
    assertEquals(List.of(), found);
  }

  @Test
  void aSecondRunFindsNothingToDo() throws Exception {
    Rig rig = rig(1, 3);
    assertEquals(1, new Aggregator(open(rig)).run().published());
    Aggregator.Result again = new Aggregator(open(rig)).run();
    assertEquals(0, again.published());
    assertEquals(1, again.lastSegment());
    assertEquals(Lines.settled(open(rig)), Lines.segments(open(rig)));
  }

  /** Closing and building each hour for a week, a segment is published a day. */
  @Test
  void waitingMakesFewSegments() throws Exception {
    Rig rig = Rig.memory(30);
    Duration day = Duration.ofDays(1);
    int published = 0;
    for (int hour = 0; hour < 7 * 24; hour++) {
      Lines.write(rig, 1, 1);
      int now = new Aggregator(open(rig)).run(day).published();
      assertTrue(hour >= 24 || now == 0, "hour " + hour);
      published += now;
      rig.time.advanceMs(3_600_000);
    }
    assertTrue(published == 6 || published == 7, "segments: " + published);
    assertEquals(1, new Aggregator(open(rig)).run().published());
    assertEquals(Lines.settled(open(rig)), Lines.segments(open(rig)));
  }

  @Test
  void aFullSegmentDoesNotMakeTheNextOneDue() throws Exception {
    Rig rig = rig(31, 3);
    rig.time.advanceMs(86_400_000);
    Lines.write(rig, 7, 5);
    var limits = new Aggregator.Limits(3, Long.MAX_VALUE);
    assertEquals(1, new Aggregator(open(rig), limits).run(Duration.ofDays(1)).published());
    rig.time.advanceMs(86_400_000);
    assertEquals(1, new Aggregator(open(rig), limits).run(Duration.ofDays(1)).published());
    assertThrows(
        IllegalArgumentException.class,
        () -> new Aggregator(open(rig)).run(Duration.ofNanos(-1)).published());
  }

  @Test
  void anEmptyLogHasNoSegment() throws Exception {
    Rig rig = Rig.memory(1);
    assertEquals(0, new Aggregator(open(rig)).run().lastSegment());
    assertEquals(List.of(), Lines.segments(open(rig)));
  }

  @Test
  void segmentsGoOnWhereTheLastOneEnds() throws Exception {
    Rig rig = rig(2, 5);
    Log log = open(rig);
    assertEquals(
        3, new Aggregator(log, new Aggregator.Limits(2, Long.MAX_VALUE)).run().published());
    Lines.write(rig, 4, 5);
    assertEquals(1, new Aggregator(log).run().published());
    var segments = new Segments(log.context());
    long next = 1;
    long from = Long.MIN_VALUE;
    for (long n = 1; n <= 4; n++) {
      SegmentHeader h = segments.header(n);
      assertEquals(next, h.firstRecord());
      assertEquals(from, h.from());
      next = h.lastRecord() + 1;
      from = h.to();
    }
    assertEquals(Lines.settled(log), Lines.segments(log));
  }

  @Test
  void aLimitOfBytesEndsASegmentBeforeTheRecordThatPassesIt() throws Exception {
    Rig rig = rig(3, 4);
    assertEquals(4, new Aggregator(open(rig), new Aggregator.Limits(1_000, 1)).run().published());
    assertEquals(Lines.settled(open(rig)), Lines.segments(open(rig)));
  }

  @Test
  void whoLosesFindsTheSameBytes() throws Exception {
    Rig rig = rig(4, 3);
    Log slow = interrupted(rig, op -> assertEquals(1, new Aggregator(open(rig)).run().published()));
    assertEquals(1, new Aggregator(slow).run().published());
    assertEquals(Lines.settled(slow), Lines.segments(slow));
  }

  @Test
  void whoLosesToAnotherRangeGoesOnAfterIt() throws Exception {
    Rig rig = rig(5, 5);
    Log slow =
        interrupted(
            rig,
            op -> {
              var limits = new Aggregator.Limits(2, Long.MAX_VALUE);
              assertEquals(3, new Aggregator(open(rig), limits).run().published());
            });
    assertEquals(0, new Aggregator(slow).run().published());
    assertEquals(Lines.settled(slow), Lines.segments(slow));
  }

  @Test
  void otherBytesForTheSameRecordsAreReportedLoudly() throws Exception {
    Rig rig = rig(6, 2);
    Log other = open(rig);
    assertEquals(1, new Aggregator(other).run().published());
    SegmentHeader header;
    SegmentBucket bucket;
    try (SegmentReader segment = SegmentReader.open(other.context(), 1)) {
      header = segment.header();
      bucket = segment.bucket(segment.index().time(0)).orElseThrow();
    }
    Path name = other.context().layout().segment(1).path();
    Lines.forget(other, 1);
    // Whole by its checksums, and without the messages.
    var bytes = new ByteArrayOutputStream();
    var encoder =
        new SegmentEncoder(
            header,
            b -> {
              var piece = new byte[b.remaining()];
              b.get(piece);
              bytes.writeBytes(piece);
            });
    encoder.bucket(bucket);
    encoder.end();
    Log slow =
        interrupted(
            rig,
            op ->
                PosixStore.of(other.context().store().storage())
                    .fresh()
                    .publish(name, bytes.toByteArray(), 0444));
    var e = assertThrows(SegmentsDifferException.class, () -> new Aggregator(slow).run());
    assertTrue(String.valueOf(e.getMessage()).contains(name.toString()), e.getMessage());
  }

  @ParameterizedTest
  @Tag("share")
  @EnumSource(Fault.class)
  void aFaultAtAnyOperationLosesNothing(Fault fault) throws Exception {
    int k = 1 + Share.first(5);
    while (true) {
      Rig rig = rig(7, 3);
      List<String> expected = Lines.settled(open(rig));
      var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
      Log log = rig.open(faulty);
      faulty.arm(k, fault);
      try {
        assertEquals(
            1, new Aggregator(log, new Aggregator.Limits(3, 1L << 30)).run().lastSegment());
      } catch (IOException | FaultyFs.Crash e) {
        // What the process did not survive, the next one finishes.
      }
      if (!faulty.fired()) {
        break;
      }
      if (fault.crashes()) {
        rig.disk.powerCut();
      }
      assertEquals(expected, Lines.settled(open(rig)), "after a fault at operation " + k);
      assertEquals(1, new Aggregator(open(rig)).run().lastSegment());
      assertEquals(expected, Lines.segments(open(rig)), "after a fault at operation " + k);
      k += Share.step(5);
    }
    assertTrue(k > 30, "operations: " + k);
  }

  @Test
  void nothingIsWrittenInBuckets() throws Exception {
    Rig rig = rig(8, 2);
    var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
    Log log = rig.open(faulty);
    assertEquals(1, new Aggregator(log).run().published());
    var reading =
        List.of(Kind.READ, Kind.READ_UNCACHED, Kind.GET, Kind.CLOSE, Kind.STATUS, Kind.LIST);
    LogLayout layout = log.context().layout();
    for (FaultyFs.Op op : faulty.trace()) {
      assertTrue(
          !op.path().startsWith(layout.buckets().path()) || reading.contains(op.kind()), "" + op);
    }
  }
}
