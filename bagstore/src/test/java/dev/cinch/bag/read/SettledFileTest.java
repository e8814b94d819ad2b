package dev.cinch.bag.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Rig;
import dev.cinch.bag.file.SegmentCursor;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.file.SegmentVerifier;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentBucket.DataFile;
import dev.cinch.bag.format.SegmentBucket.Hole;
import dev.cinch.bag.format.SegmentEncoder;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.DataFileName;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.store.LogContext;
import dev.cinch.lease.Id;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Locks that are settled files: one bucket, with holes. */
@SuppressWarnings("NullAway.Init")
class SettledFileTest {
  private static final DataFileName A = new DataFileName(new MachineName("m1"), new Id(0, 1));
  private static final DataFileName B = new DataFileName(new MachineName("m2"), new Id(0, 2));

  private Rig rig;
  private LogContext log;
  private Bucket bucket;
  private String digest = "";

  @BeforeEach
  void make() throws IOException {
    rig = Rig.memory(1);
    log = rig.open(rig.disk.view(0)).context();
    bucket = Bucket.of(1_767_225_600_000_000_000L, log.bucketWidth());
  }

  private record Put(int file, long position, String text) {}

  /** Writes a lock, with messages a nanosecond apart. */
  private void lock(Bucket at, SegmentHeader header, SegmentBucket b, List<Put> puts)
      throws IOException {
    var bytes = new ByteArrayOutputStream();
    var out =
        new SegmentEncoder(
            header,
            piece -> {
              while (piece.hasRemaining()) {
                bytes.write(piece.get());
              }
            });
    out.bucket(b);
    long time = b.start();
    for (Put p : puts) {
      byte[] text = p.text().getBytes(StandardCharsets.UTF_8);
      int set = p.position() == 0 ? out.leaseSet(List.of(new byte[] {1, 2, 3})) : 0;
      out.message(p.file(), p.position(), set, time++, text, 0, text.length);
    }
    out.end();
    digest = out.digest();
    put(at, bytes.toByteArray());
  }

  private void lock(SegmentBucket b, List<Put> puts) throws IOException {
    lock(bucket, header(bucket), b, puts);
  }

  private SegmentHeader header(Bucket of) {
    return SegmentHeader.ofBucket(log.store().identity().id(), log.id(), of);
  }

  private Path path(Bucket of) {
    return LogLayout.lock(log.layout().bucket(of)).path();
  }

  private void put(Bucket at, byte[] bytes) throws IOException {
    StoreFs fs = rig.disk.view(0);
    for (Name directory :
        List.of(log.layout().era(at), log.layout().group(at), log.layout().bucket(at))) {
      try {
        fs.mkdir(directory.path(), 0777);
      } catch (java.nio.file.FileAlreadyExistsException e) {
        continue;
      }
    }
    try {
      fs.unlink(path(at));
    } catch (NoSuchFileException e) {
      // the first one
    }
    fs.create(path(at), 0644).close();
    rig.disk.put(path(at), 0, bytes);
  }

  private SegmentBucket closed(List<DataFile> files, List<Hole> holes) {
    return SegmentBucket.closed(bucket.start(), files, holes);
  }

  private SegmentReader open() throws IOException {
    return SegmentReader.ofBucket(log, bucket, Freshness.CACHED);
  }

  private List<String> read() throws IOException {
    var texts = new ArrayList<String>();
    try (SegmentReader lock = open()) {
      new SegmentVerifier(lock).verify(b -> {});
      SegmentCursor m = lock.messages(Long.MIN_VALUE, Long.MAX_VALUE);
      while (m.next()) {
        String text = new String(m.payload(), StandardCharsets.UTF_8);
        texts.add(m.file().machine() + " " + m.position() + " " + text);
      }
    }
    return texts;
  }

  @Test
  void aLockIsReadAsASegmentIs() throws Exception {
    assertThrows(NoSuchFileException.class, this::open);
    SegmentBucket b = closed(List.of(new DataFile(A, 500, 2), new DataFile(B, 0, 0)), List.of());
    lock(b, List.of(new Put(0, 0, "one"), new Put(0, 1, "two")));
    assertEquals(List.of("m1 0 one", "m1 1 two"), read());
    try (SegmentReader lock = open()) {
      assertEquals(digest, lock.digest());
      assertTrue(lock.header().isOfBucket());
      assertEquals(b, lock.bucket(bucket.start()).orElseThrow());
      assertEquals(2, lock.trailer().messages());
      SegmentCursor late = lock.messages(bucket.start() + 1, bucket.end());
      assertTrue(late.next());
      assertEquals(1, late.position());
      assertFalse(late.next());
    }
  }

  @Test
  void positionsSkipWhatTheHolesOfTheirFileMiss() throws Exception {
    List<DataFile> files = List.of(new DataFile(A, 900, 3), new DataFile(B, 400, 1));
    List<Hole> holes =
        List.of(
            new Hole(A, 0, 100, 2),
            new Hole(A, 300, 400, 5),
            new Hole(A, 900, 2_000, Hole.UNKNOWN),
            new Hole(B, 60, 61, 0));
    SegmentBucket b = closed(files, holes);
    lock(
        b, List.of(new Put(0, 2, "a"), new Put(1, 0, "x"), new Put(0, 3, "b"), new Put(0, 9, "c")));
    assertEquals(List.of("m1 2 a", "m2 0 x", "m1 3 b", "m1 9 c"), read());
    try (SegmentReader lock = open()) {
      assertEquals(b, lock.bucket(bucket.start()).orElseThrow());
    }
    for (List<Put> wrong :
        List.of(
            List.of(new Put(0, 1, "a"), new Put(1, 0, "x"), new Put(0, 2, "b"), new Put(0, 3, "c")),
            List.of(new Put(0, 2, "a"), new Put(1, 0, "x"), new Put(0, 3, "b"), new Put(0, 8, "c")),
            List.of(new Put(0, 2, "a"), new Put(1, 1, "x"), new Put(0, 3, "b"), new Put(0, 9, "c")),
            List.of(
                new Put(0, 2, "a"), new Put(1, 0, "x"), new Put(0, 9, "b"), new Put(0, 15, "c")),
            List.of(new Put(0, 2, "a"), new Put(1, 0, "x"), new Put(0, 3, "b")))) {
      lock(b, wrong);
      assertThrows(DamagedException.class, this::read, wrong::toString);
    }
  }

  /** Append, step 5: what its writer is told of a batch that ends there. */
  @Test
  void noBatchInAHoleExists() {
    SegmentBucket b =
        closed(
            List.of(new DataFile(A, 900, 3), new DataFile(B, 900, 3)),
            List.of(new Hole(A, 300, 400, 1), new Hole(A, 950, 2_000, Hole.UNKNOWN)));
    for (long end : List.of(301L, 350L, 400L, 901L, 2_000L)) {
      assertFalse(b.covers(A, end), "" + end);
    }
    for (long end : List.of(200L, 300L, 401L, 900L)) {
      assertTrue(b.covers(A, end), "" + end);
    }
    assertTrue(b.covers(B, 350));
    assertFalse(b.covers(new DataFileName(A.machine(), new Id(7, 7)), 1));
  }

  @Test
  void holesThatCanNotBeAreDamage() throws Exception {
    List<DataFile> files = List.of(new DataFile(A, 900, 3), new DataFile(B, 0, 0));
    for (List<Hole> wrong :
        List.of(
            List.of(new Hole(A, 100, 100, 1)),
            List.of(new Hole(A, -1, 100, 1)),
            List.of(new Hole(A, 300, 400, 1), new Hole(A, 399, 500, 1)),
            List.of(new Hole(A, 300, 901, 1)),
            List.of(new Hole(A, 300, 400, Hole.UNKNOWN)),
            List.of(new Hole(A, 300, 400, -2)),
            List.of(new Hole(A, 900, 901, 1)))) {
      lock(closed(files, wrong), List.of());
      try (SegmentReader lock = open()) {
        assertThrows(DamagedException.class, () -> lock.bucket(bucket.start()), wrong::toString);
      }
    }
    SegmentBucket known = closed(files, List.of(new Hole(B, 0, 100, Hole.UNKNOWN)));
    lock(known, List.of());
    try (SegmentReader lock = open()) {
      assertEquals(known, lock.bucket(bucket.start()).orElseThrow());
    }
  }

  /** Names that don't ascend, and counts that don't fit. */
  @Test
  void filesThatCanNotBeAreDamage() throws Exception {
    var b = new DataFile(B, 0, 0);
    for (List<DataFile> wrong :
        List.of(
            List.of(new DataFile(A, 900, 3), new DataFile(A, 900, 3)),
            List.of(b, new DataFile(A, 900, 3)),
            List.of(new DataFile(A, 900, 0), b),
            List.of(new DataFile(A, 900, -1), b),
            List.of(new DataFile(A, 900, 1_000), b),
            List.of(new DataFile(A, 900, Long.MAX_VALUE), b),
            List.of(new DataFile(A, -1, 1), b),
            List.of(new DataFile(A, 1, 1), b),
            List.of(new DataFile(A, 0, 1), b))) {
      lock(closed(wrong, List.of()), List.of());
      try (SegmentReader lock = open()) {
        assertThrows(DamagedException.class, () -> lock.bucket(bucket.start()), wrong::toString);
      }
    }
  }

  @Test
  void aLockWithoutItsBucketIsDamage() throws Exception {
    var bytes = new ByteArrayOutputStream();
    var out =
        new SegmentEncoder(
            header(bucket),
            piece -> {
              while (piece.hasRemaining()) {
                bytes.write(piece.get());
              }
            });
    out.end();
    put(bucket, bytes.toByteArray());
    assertThrows(DamagedException.class, this::open);
  }

  /** It says so itself, and what stands there is as it is. */
  @Test
  void blocksArePackedWhereThatMakesThemSmaller() throws Exception {
    for (String text : List.of("same ".repeat(40), "x")) {
      lock(
          closed(List.of(new DataFile(A, 900, 3)), List.of()),
          List.of(new Put(0, 0, text), new Put(0, 1, text), new Put(0, 2, text)));
      assertEquals(List.of("m1 0 " + text, "m1 1 " + text, "m1 2 " + text), read());
      try (SegmentReader lock = open()) {
        int last = lock.index().size() - 1;
        boolean packed = lock.index().length(last) < 3 * text.length();
        assertEquals(text.length() > 1, packed);
        int how =
            ByteBuffer.wrap(rig.disk.content(path(bucket)))
                .order(ByteOrder.LITTLE_ENDIAN)
                .getInt((int) lock.index().offset(last) + 8);
        assertEquals(text.length() > 1 ? 1 : 0, how >>> 28);
      }
    }
  }
}
