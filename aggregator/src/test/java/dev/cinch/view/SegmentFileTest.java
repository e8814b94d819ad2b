package dev.cinch.view;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Rig;
import dev.cinch.bag.audit.AuditStore;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.file.SegmentVerifier;
import dev.cinch.bag.format.SegmentBlock;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Share;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The bytes of segments: that they are the same everywhere, checked, and found by time. */
class SegmentFileTest {
  private static void verify(Log log, long number) throws IOException {
    try (SegmentReader segment = SegmentReader.open(log.context(), number)) {
      new SegmentVerifier(segment).verify(b -> {});
    }
  }

  private static byte[] bytes(Log log, long number) throws IOException {
    return PosixStore.of(log.context().store().storage())
        .fresh()
        .readAll(log.context().layout().segment(number).path(), 1 << 24);
  }

  @Test
  void twoIndependentRunsGiveTheSameBytes() throws Exception {
    Rig rig = Rig.memory(1);
    Lines.write(rig, 300, 10);
    Lines.write(rig, 20, 70_000);
    Log first = rig.open(rig.disk.view(Rig.ALICE));
    assertEquals(1, new Aggregator(first).run().published());
    byte[] there = bytes(first, 1);
    Lines.forget(first, 1);
    rig.time.advanceMs(3_600_000);
    Log second = rig.open(rig.disk.view(Rig.BOB));
    assertEquals(1, new Aggregator(second).run().published());
    assertArrayEquals(there, bytes(second, 1));
  }

  @Test
  @Tag("share")
  void everyTimeRangeIsReadAsFromBuckets() throws Exception {
    Rig rig = Rig.memory(4);
    for (int i = 0; i < 3; i++) {
      Lines.write(rig, 150, 1_000);
    }
    var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
    Log log = rig.open(faulty);
    assertEquals(1, new Aggregator(log).run().published());
    var times = new ArrayList<Long>();
    log.reader()
        .settled(Lines.MIN, Lines.MAX, true, m -> times.add(m.timestamp()), (m, f, w) -> {});
    List<String> all = Lines.settled(log);
    assertEquals(450, times.size());
    assertEquals(all, Lines.segments(log));
    assertTrue(new Retention(log, Duration.ZERO).run().buckets() > 0);
    var random = new Random(4);
    for (int i = 0; i < Share.of(200, 40); i++) {
      int a = random.nextInt(times.size());
      int b = random.nextInt(times.size());
      long from = times.get(Math.min(a, b)) + random.nextInt(3) - 1;
      long to = times.get(Math.max(a, b)) + random.nextInt(3) - 1;
      List<String> expected =
          IntStream.range(0, all.size())
              .filter(n -> times.get(n) >= from && times.get(n) < to)
              .mapToObj(all::get)
              .toList();
      assertEquals(expected, Lines.settled(log, from, to), from + " to " + to);
    }
  }

  @Test
  void theIndexLeavesOutBlocksOutsideTheRange() throws Exception {
    Rig rig = Rig.memory(5);
    Lines.write(rig, 400, 4_000);
    var faulty = new FaultyFs(rig.disk.view(Rig.ALICE));
    Log log = rig.open(faulty);
    assertEquals(1, new Aggregator(log).run().published());
    var times = new ArrayList<Long>();
    log.reader()
        .settled(Lines.MIN, Lines.MAX, true, m -> times.add(m.timestamp()), (m, f, w) -> {});
    try (SegmentReader segment = SegmentReader.open(log.context(), 1)) {
      assertTrue(segment.index().size() > 20, "blocks: " + segment.index().size());
      faulty.clearTrace();
      var cursor = segment.messages(times.get(399), Lines.MAX);
      assertTrue(cursor.next());
      assertFalse(cursor.next());
      // The bucket's block, and at most the last two blocks of messages.
      assertTrue(
          faulty.counts().getOrDefault(FaultyFs.Kind.GET, 0) <= 3, faulty.counts().toString());
    }
  }

  @Test
  void aMessageLargerThanABlockHasItsOwn() throws Exception {
    Rig rig = Rig.memory(6);
    Lines.write(rig, 5, 3 * SegmentBlock.TARGET);
    Log log = rig.open(rig.disk.view(Rig.ALICE));
    assertEquals(5, new Aggregator(log).run().messages());
    verify(log, 1);
    assertEquals(Lines.settled(log), Lines.segments(log));
  }

  @Test
  void f3_segmentsKeepWitnessesAndReadersEnforceThem(@TempDir Path temp) throws Exception {
    var store = new AuditStore(temp.resolve("s"), StoreSettings.Leases.REQUIRED);
    Log log = store.store.createLog(new LogName("jobs"));
    long now = AuditStore.START;
    SignedWitness good = store.sign(store.first("a", now + 60 * AuditStore.SECOND));
    SignedWitness over = store.sign(store.first("b", now + AuditStore.SECOND));
    byte[] otherSeed = {1};
    SignedWitness forged =
        new WitnessSigner(SigningKey.ofSeed(Arrays.copyOf(otherSeed, 32)))
            .sign(store.first("c", now + 60 * AuditStore.SECOND));
    long last = now;
    try (LogWriter writer = store.writer(log)) {
      store.clock.sleepNanos(2 * AuditStore.SECOND);
      for (int i = 0; i < 3; i++) {
        AuditStore.append(writer, AuditStore.stamp(good), "permitted " + i);
        AuditStore.append(writer, AuditStore.reckless(good, over), "expired " + i);
        AuditStore.append(writer, AuditStore.reckless(forged), "forged " + i);
        last = AuditStore.append(writer, LeaseStamp.NONE, "unleased " + i);
        store.clock.sleepNanos(AuditStore.SECOND / 2);
      }
    }
    store.settle(log, last);
    List<String> expected = Lines.settled(log);
    assertEquals(3, expected.stream().filter(s -> s.contains(" permitted ")).count());
    assertEquals(9, expected.stream().filter(s -> s.startsWith("ignored ")).count());
    assertEquals(12, new Aggregator(log).run().messages());
    verify(log, 1);
    assertTrue(new Retention(log, Duration.ZERO).run().buckets() > 0);
    assertEquals(expected, Lines.settled(log));
  }
}
