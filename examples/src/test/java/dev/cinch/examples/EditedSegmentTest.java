package dev.cinch.examples;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.AuditStore;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.Salvage;
import dev.cinch.bag.audit.SalvageSink;
import dev.cinch.bag.audit.Salvaged;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.file.SegmentCursor;
import dev.cinch.bag.file.SegmentMarks;
import dev.cinch.bag.file.SegmentReader;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentEncoder;
import dev.cinch.bag.fs.PosixFs;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.bag.storage.posix.PosixStore;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.view.Aggregator;
import dev.cinch.view.Retention;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Segments that somebody edited, with every checksum redone, or removed: checkpoints know those
 * that they cover, and buckets stand beside the others.
 */
class EditedSegmentTest {
  private static final LogName JOBS = new LogName("jobs");

  @TempDir Path temp;

  private Path store;
  private AuditStore s;
  private Log log;

  /** Segments 1 and 2 behind a checkpoint, 3 not. */
  @BeforeEach
  void fill() throws Exception {
    store = temp.resolve("store");
    s = new AuditStore(store, Leases.OPTIONAL);
    log = s.store.createLog(JOBS);
    var aggregator = new Aggregator(log, new Aggregator.Limits(1, Long.MAX_VALUE));
    for (String text : List.of("one", "two", "three")) {
      s.settle(log, AuditStore.append(s.writer(log), LeaseStamp.NONE, text));
      assertEquals(1, aggregator.run().published());
      if (text.equals("two")) {
        s.clock.sleepNanos(7_200_000_000_000L);
        assertEquals(2, new Retention(log, Duration.ofHours(1)).run().buckets());
      }
    }
    assertEquals(List.of("one", "two", "three"), settled());
    assertEquals(List.of(), damage());
    assertEquals(List.of("one", "two", "three"), python());
  }

  private static String text(byte[] payload) {
    return new String(payload, StandardCharsets.UTF_8);
  }

  /** What a process reads that starts now: one that runs remembers a checkpoint. */
  private List<String> settled() throws IOException {
    var texts = new ArrayList<String>();
    Store.open(store, s.environment)
        .log(JOBS)
        .reader()
        .settled(
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            true,
            m -> texts.add(text(m.payload())),
            (m, f, why) -> {});
    return texts;
  }

  private List<String> python() throws Exception {
    Python.Run run = Python.read(temp, store, "jobs");
    assertEquals(0, run.exit(), run.err());
    return run.messages().stream().map(EditedSegmentTest::text).toList();
  }

  /** The files that verify finds damaged. */
  private List<Path> damage() throws IOException {
    var found = new ArrayList<Path>();
    StoreVerifier.verify(
        store,
        s.environment,
        f -> {
          if (f.severity() == Finding.Severity.DAMAGE) {
            found.add(f.path().path());
          }
        });
    return found;
  }

  /** What salvage gives; the files that it finds damaged go to the list. */
  private List<String> salvaged(List<Path> damaged) throws IOException {
    var texts = new ArrayList<String>();
    Salvage.run(
        PosixStore.unread(new PosixFs(null, null), store),
        new StoreLayout(store).log(JOBS),
        new SalvageSink() {
          @Override
          public void message(Salvaged message) {
            texts.add(text(message.payload()));
          }

          @Override
          public void left(Kind kind, Name path, long offset, long length, String why) {
            if (kind == Kind.DAMAGE) {
              damaged.add(path.path());
            }
          }
        });
    return texts;
  }

  private Path segment(long number) {
    return log.context().layout().segment(number).path();
  }

  private static void put(Path file, byte[] bytes) throws IOException {
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-r--"));
    Files.write(file, bytes, StandardOpenOption.TRUNCATE_EXISTING);
  }

  /**
   * Another segment of the same records in its place: whole, and with all but the first messages,
   * which say something else.
   */
  private void fewer(long number, int without) throws IOException {
    var marks = SegmentMarks.none(log.context());
    var bytes = new ByteArrayOutputStream();
    try (SegmentReader reader = SegmentReader.open(log.context(), number, marks)) {
      var encoder =
          new SegmentEncoder(
              reader.header(),
              b -> {
                var piece = new byte[b.remaining()];
                b.get(piece);
                bytes.writeBytes(piece);
              });
      SegmentBucket bucket = reader.bucket(reader.index().time(0)).orElseThrow();
      var names = bucket.files().stream().map(SegmentBucket.DataFile::name).toList();
      encoder.bucket(
          new SegmentBucket(
              bucket.start(),
              bucket.settledBefore(),
              bucket.trustedKeys(),
              names.stream().map(n -> new SegmentBucket.DataFile(n, 0, 0)).toList(),
              List.of()));
      SegmentCursor m = reader.messages(Long.MIN_VALUE, Long.MAX_VALUE);
      for (int i = 0; m.next(); i++) {
        if (i >= without) {
          byte[] other = m.payload();
          other[0] ^= 32;
          int file = names.indexOf(m.file());
          encoder.message(file, m.position(), 0, m.timestamp(), other, 0, other.length);
        }
      }
      encoder.end();
    }
    put(segment(number), bytes.toByteArray());
  }

  /** Readers go by its bucket, which verify and gc hold against it. */
  @Test
  void anotherSegmentThatNoCheckpointNames() throws Exception {
    byte[] good = Files.readAllBytes(segment(3));
    List<DocumentEdits.Edit> edits = SegmentEdits.ofBlocks(good);
    for (DocumentEdits.Edit edit : List.of(edits.get(0), edits.get(edits.size() - 2))) {
      put(segment(3), edit.bytes());
      assertEquals(List.of("one", "two", "three"), settled());
      assertEquals(List.of("one", "two", "three"), python());
      assertEquals(List.of(segment(3)), damage());
      assertEquals(List.of("one", "two", "three"), salvaged(new ArrayList<>()));
      s.clock.sleepNanos(7_200_000_000_000L);
      DamagedException e =
          assertThrows(DamagedException.class, () -> new Retention(log, Duration.ofHours(1)).run());
      assertEquals(Name.of(segment(3)), e.path());
      put(segment(3), good);
    }
  }

  /** Also of several files, and where the segment lacks what comes before. */
  @Test
  void salvagePrefersEachFileOfABucketToASegmentThatNoCheckpointNames() throws Exception {
    var unused = AuditStore.append(s.writer(log), LeaseStamp.NONE, "four");
    s.settle(log, AuditStore.append(s.writer(log), LeaseStamp.NONE, "five"));
    assertEquals(1, new Aggregator(log).run().published());
    List<String> good = settled();
    assertEquals(5, good.size());
    byte[] whole = Files.readAllBytes(segment(4));
    for (int without = 0; without <= 2; without++) {
      put(segment(4), whole);
      fewer(4, without);
      assertEquals(List.of(segment(4)), damage());
      assertEquals(good, salvaged(new ArrayList<>()));
    }
  }

  /** Nothing is lost with it: its bucket is there, and it is built once more. */
  @Test
  void aMissingSegmentThatNoCheckpointNames() throws Exception {
    byte[] good = Files.readAllBytes(segment(3));
    Files.delete(segment(3));
    assertEquals(List.of(), damage());
    assertEquals(List.of("one", "two", "three"), settled());
    assertEquals(1, new Aggregator(log).run().published());
    assertArrayEquals(good, Files.readAllBytes(segment(3)));
  }
}
