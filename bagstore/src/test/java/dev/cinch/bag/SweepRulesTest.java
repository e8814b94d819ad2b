package dev.cinch.bag;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.audit.VerifySummary;
import dev.cinch.bag.close.DataFileSweep;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentEncoder;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.fs.FaultyFs;
import dev.cinch.bag.fs.FaultyFs.Fault;
import dev.cinch.bag.fs.FaultyFs.Kind;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.Durability;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.Receipt;
import dev.cinch.bag.write.LogWriter;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** When data files go: rule R0. */
class SweepRulesTest {
  private final Rig rig = rig();
  private final StoreFs fs = rig.disk.view(Rig.ALICE);
  private Log log;
  private Bucket first;

  private static Rig rig() {
    try {
      return Rig.memory(1);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  @BeforeEach
  void write() throws Exception {
    log = rig.open(fs);
    first = append("first");
  }

  private Bucket append(String text) throws Exception {
    try (LogWriter writer = log.writer(Durability.SYNC)) {
      Receipt receipt = writer.append(text.getBytes(StandardCharsets.UTF_8));
      assertInstanceOf(Receipt.Committed.class, receipt);
      return Bucket.of(receipt.timestamp(), log.context().bucketWidth());
    }
  }

  private void settle(Log by) throws Exception {
    rig.time.advanceNanos(
        2 * log.context().bucketWidth() + log.context().store().settings().graceNanos());
    by.horizon().advance(by.horizon().reachable(), OptionalLong.empty());
  }

  private List<String> data(Bucket bucket) throws IOException {
    return fs.list(log.context().layout().bucket(bucket).path()).stream()
        .filter(n -> n.endsWith(".log"))
        .toList();
  }

  private List<String> settled() throws IOException {
    var texts = new ArrayList<String>();
    log.reader()
        .settled(
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            m -> texts.add(new String(m.payload(), StandardCharsets.UTF_8)),
            (m, f, w) -> {});
    return texts;
  }

  private static List<String> live(Log by) throws IOException {
    var texts = new ArrayList<String>();
    by.reader()
        .live(
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            m -> texts.add(new String(m.payload(), StandardCharsets.UTF_8) + " " + m.settled()),
            (m, f, w) -> {});
    return texts;
  }

  private static List<IOException> sweep(Log by) throws IOException {
    var failed = new ArrayList<IOException>();
    new DataFileSweep(by.context(), 0).all((bucket, e) -> failed.add(e));
    return failed;
  }

  @Test
  void r0_theyGoOnceARecordListsThem() throws Exception {
    settle(log);
    Bucket second = append("second");
    assertEquals(List.of(), sweep(log));
    assertEquals(List.of(), data(first));
    assertEquals(1, data(second).size());
    assertEquals(List.of("first"), settled());
    settle(log);
    assertEquals(List.of("first", "second"), settled());
  }

  /** For readers that have just listed them. */
  @Test
  void r0_thoseOfTheLastMinuteStay() throws Exception {
    settle(log);
    var sweep = new DataFileSweep(log.context());
    sweep.lately((bucket, e) -> {});
    assertEquals(1, data(first).size());
    rig.time.advanceMs(60_000);
    sweep.lately((bucket, e) -> {});
    assertEquals(List.of(), data(first));
  }

  /** It listed the bucket while it was open, and would take for lost what was swept since. */
  @Test
  void r0_verifyGoesByTheLockWhereADataFileWasSweptUnderIt() throws Exception {
    var slow = new FaultyFs(fs);
    slow.beforeFirst(
        op -> op.kind() == Kind.READ && op.path().toString().endsWith(".log"),
        () -> {
          settle(log);
          assertEquals(List.of(), sweep(log));
        });
    var found = new ArrayList<Finding>();
    VerifySummary seen =
        StoreVerifier.verify(rig.root, rig.environment(slow, rig.time), found::add);
    assertEquals(List.of(), data(first));
    assertEquals(List.of(), found);
    assertEquals(1, seen.messages());
  }

  /** As on NFS, where the server knows a file no more that is open here. */
  @Test
  void r0_verifyGoesByTheLockWhereADataFileWasSweptWhileItReadIt() throws Exception {
    var slow = new FaultyFs(fs);
    slow.beforeFirst(
        op -> op.kind() == Kind.GET && op.path().toString().endsWith(".log"),
        () -> {
          settle(log);
          assertEquals(List.of(), sweep(log));
          throw new FileSystemException(first.toString(), null, "Stale file handle");
        });
    var found = new ArrayList<Finding>();
    VerifySummary seen =
        StoreVerifier.verify(rig.root, rig.environment(slow, rig.time), found::add);
    assertEquals(List.of(), found);
    assertEquals(1, seen.messages());
  }

  /** One that is gone, and no lock has what it held, is lost. */
  @Test
  void verifyTellsWhereADataFileIsGone() throws Exception {
    var slow = new FaultyFs(fs);
    Path place = log.context().layout().bucket(first).path();
    String file = data(first).get(0);
    slow.beforeFirst(
        op -> op.kind() == Kind.READ && op.path().toString().endsWith(".log"),
        () -> {
          try {
            fs.unlink(place.resolve(file));
          } catch (IOException e) {
            throw new IllegalStateException(e);
          }
        });
    VerifySummary seen =
        StoreVerifier.verify(rig.root, rig.environment(slow, rig.time), finding -> {});
    assertEquals(1, seen.damage());
  }

  /** A bucket that its closer has locked, and no record lists. */
  private Bucket locked() throws Exception {
    settle(log);
    Bucket second = append("second");
    var killed = new FaultyFs(fs);
    killed.arm(
        1,
        Fault.CRASH_BEFORE,
        op -> op.kind() == Kind.LINK && op.path().toString().contains("/records/"));
    assertThrows(FaultyFs.Crash.class, () -> settle(rig.open(killed)));
    Path lock = LogLayout.lock(log.context().layout().bucket(second)).path();
    assertTrue(fs.status(lock).size() > 0);
    return second;
  }

  @Test
  void r0_aLockWithoutARecordIsNotEnough() throws Exception {
    Bucket second = locked();
    assertEquals(List.of(), sweep(log));
    assertEquals(1, data(second).size());
  }

  /** Whatever data files say by then (rule C2). */
  @Test
  void h4_aLiveReadGoesByALockWithoutARecord() throws Exception {
    Bucket second = locked();
    for (String name : data(second)) {
      fs.unlink(log.context().layout().bucket(second).resolve(name).path());
    }
    assertEquals(List.of("first true", "second false"), live(log));
  }

  /** A name that a power cut may take was not there. */
  @Test
  void r0_theRecordIsDurableBefore() throws Exception {
    settle(log);
    var order = new ArrayList<String>();
    var seen = new FaultyFs(fs);
    Log by = rig.open(seen);
    seen.before(
        op -> {
          if (op.kind() == Kind.FORCE_DIRECTORY && op.path().toString().contains("/records")) {
            order.add("force");
          } else if (op.is(Kind.UNLINK, ".log")) {
            order.add("unlink");
          }
        });
    assertEquals(List.of(), sweep(by));
    assertEquals("force", order.get(0));
    assertEquals(1, order.indexOf("unlink") - order.lastIndexOf("force"));
  }

  @Test
  void r0_theLockIsTheOneThatTheRecordNames() throws Exception {
    settle(log);
    Path lock = LogLayout.lock(log.context().layout().bucket(first)).path();
    var empty = new ByteArrayOutputStream();
    var out =
        new SegmentEncoder(
            SegmentHeader.ofBucket(
                log.context().store().identity().id(), log.context().id(), first),
            bytes -> empty.writeBytes(Arrays.copyOf(bytes.array(), bytes.remaining())));
    out.bucket(SegmentBucket.closed(first.start(), List.of(), List.of()));
    out.end();
    rig.disk.truncate(lock, 0);
    rig.disk.put(lock, 0, empty.toByteArray());
    assertEquals(1, sweep(log).size());
    assertEquals(1, data(first).size());
  }

  /** Salvage may find in them what the hole misses (rule C4). */
  @Test
  void r0_thoseWithAHoleStay() throws Exception {
    Bucket bucket;
    try (LogWriter writer = log.writer(Durability.SYNC)) {
      List<Receipt> receipts = new ArrayList<>();
      for (String text : List.of("before", "damaged", "behind")) {
        receipts.add(writer.append(text.getBytes(StandardCharsets.UTF_8)));
      }
      bucket = Bucket.of(receipts.get(0).timestamp(), log.context().bucketWidth());
    }
    Path place = log.context().layout().bucket(bucket).path();
    for (String name : data(bucket)) {
      byte[] bytes = rig.disk.content(place.resolve(name));
      int at = new String(bytes, StandardCharsets.ISO_8859_1).indexOf("damaged");
      if (at > 0) {
        rig.disk.put(place.resolve(name), at, new byte[] {'D'});
      }
    }
    settle(log);
    int before = data(bucket).size();
    assertEquals(List.of(), sweep(log));
    assertEquals(before, data(bucket).size());
    var e = assertThrows(DamagedException.class, this::settled);
    assertTrue(String.valueOf(e.getMessage()).contains("with 1 messages"), e.toString());
  }

  /** What was listed and then went stands in the lock (rule H4). */
  @Test
  void h4_aFileThatGoesUnderALiveReadIsNotLost() throws Exception {
    var slow = new FaultyFs(fs);
    Log by = rig.open(slow);
    var gone = new AtomicBoolean();
    slow.before(
        op -> {
          boolean opens = op.is(Kind.READ, ".log") || op.is(Kind.READ_UNCACHED, ".log");
          if (opens && !gone.getAndSet(true)) {
            settle(log);
            assertEquals(List.of(), sweep(log));
          }
        });
    List<String> texts = live(by);
    assertTrue(gone.get());
    assertEquals(List.of("first true"), texts);
  }

  /** A writer that is interrupted before it wrote anything takes its file back. */
  @Test
  void h4_anEmptyFileThatIsTakenBackEndsNoLiveRead() throws Exception {
    Path empty = besides();
    var slow = new FaultyFs(fs);
    Log by = rig.open(slow);
    slow.beforeFirst(op -> opens(op, empty), () -> fs.unlink(empty));
    assertEquals(List.of("first false"), live(by));
    assertThrows(NoSuchFileException.class, () -> fs.status(empty));
  }

  /** It is looked for some times, and no more. */
  @Test
  void h4_aFileThatStaysListedAndIsGoneEndsALiveRead() throws Exception {
    Path empty = besides();
    var slow = new FaultyFs(fs);
    Log by = rig.open(slow);
    var opened = new AtomicInteger();
    slow.before(
        op -> {
          if (opens(op, empty)) {
            assertTrue(opened.incrementAndGet() < 100, "it goes on for ever");
            throw new NoSuchFileException(empty.toString());
          }
        });
    assertThrows(NoSuchFileException.class, () -> live(by));
    assertTrue(opened.get() > 1);
  }

  /** An empty file beside that of the first message. */
  private Path besides() throws IOException {
    String name = data(first).get(0);
    Path empty = log.context().layout().bucket(first).resolve("z" + name).path();
    fs.create(empty, 0644).close();
    return empty;
  }

  private static boolean opens(FaultyFs.Op op, Path file) {
    return op.path().equals(file) && (op.kind() == Kind.READ || op.kind() == Kind.READ_UNCACHED);
  }
}
