package dev.cinch.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.audit.AuditStore;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.close.Locks;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentBucket.DataFile;
import dev.cinch.bag.format.SegmentBucket.Hole;
import dev.cinch.bag.format.SegmentEncoder;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.bag.write.LeaseStamp;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Locks and records that contradict themselves, and whose digests are right. */
@SuppressWarnings("NullAway.Init")
class ForgedDocumentsTest {
  private static PythonReader python;

  @TempDir Path temp;

  @BeforeAll
  static void begin() throws IOException {
    python = new PythonReader();
  }

  @AfterAll
  static void end() {
    python.close();
  }

  private Path store;
  private AuditStore s;
  private Log log;
  private Path record;
  private Path lock;

  /** One bucket with two data files. */
  @BeforeEach
  void fill() throws Exception {
    store = temp.resolve("store");
    s = new AuditStore(store, Leases.OPTIONAL);
    log = s.store.createLog(new LogName("jobs"));
    long first = AuditStore.append(s.writer(log), LeaseStamp.NONE, "one");
    s.settle(log, AuditStore.append(s.writer(log), LeaseStamp.NONE, "two"));
    record = log.context().layout().record(1).path();
    ClosedBucket listed = decoded().buckets().get(0);
    Bucket bucket = Bucket.of(first, log.context().bucketWidth());
    assertEquals(bucket.start(), listed.start());
    lock = LogLayout.lock(log.context().layout().bucket(bucket)).path();
  }

  private HorizonRecord decoded() throws IOException {
    return HorizonRecord.decode(Files.readAllBytes(record), Name.of(record));
  }

  private static void put(Path file, byte[] bytes) throws IOException {
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-r--"));
    Files.write(file, bytes);
  }

  /** A record without seals that lists buckets. */
  private void list(List<ClosedBucket> buckets) throws IOException {
    put(record, decoded().withBuckets(buckets).encode());
    try (var all = Files.list(log.context().layout().recordGroup(0).path())) {
      for (Path seal : all.filter(f -> f.toString().contains("000001.")).toList()) {
        Files.delete(seal);
      }
    }
  }

  /** All readers say that a file is damaged, and verify too. */
  private void told(Path file) throws Exception {
    DamagedException e =
        assertThrows(
            DamagedException.class,
            () ->
                log.reader()
                    .settled(Long.MIN_VALUE, Long.MAX_VALUE, true, m -> true, (m, f, why) -> {}));
    assertEquals(Name.of(file), e.path());
    toldByCheckers(file);
  }

  private void toldByCheckers(Path file) throws Exception {
    var damaged = new ArrayList<Path>();
    StoreVerifier.verify(
        store,
        s.environment,
        f -> {
          if (f.severity() == Finding.Severity.DAMAGE) {
            damaged.add(f.path().path());
          }
        });
    assertTrue(damaged.contains(file), damaged.toString());
    IOException e = assertThrows(IOException.class, () -> python.read(store));
    String said = String.valueOf(e.getMessage());
    assertTrue(said.contains(" error '" + file + ": "), said);
    assertEquals(-1, said.indexOf("\\n"), said); // one line
  }

  /** A message of a lock. */
  private record Line(int file, long position, int leases, long timestamp) {}

  private interface Content {
    void put(SegmentEncoder out) throws IOException;
  }

  /** Puts another lock in the place of the bucket's, and another record that lists it. */
  private void encoded(SegmentHeader header, Content content) throws IOException {
    var out = new ByteArrayOutputStream();
    var encoder =
        new SegmentEncoder(
            header,
            bytes -> {
              var copy = new byte[bytes.remaining()];
              bytes.get(copy);
              out.writeBytes(copy);
            });
    content.put(encoder);
    encoder.end();
    put(lock, out.toByteArray());
    list(List.of(new ClosedBucket(place().start(), encoder.digest())));
  }

  private Bucket place() throws IOException {
    return new Bucket(decoded().buckets().get(0).start(), log.context().bucketWidth());
  }

  private void forge(SegmentBucket bucket, List<Line> lines) throws IOException {
    encoded(
        SegmentHeader.ofBucket(s.store.context().identity().id(), log.id(), place()),
        encoder -> {
          encoder.bucket(bucket);
          for (Line l : lines) {
            encoder.message(l.file(), l.position(), l.leases(), l.timestamp(), new byte[3], 0, 3);
          }
        });
  }

  private static List<DataFile> files(DataFile... files) {
    return List.of(files);
  }

  @Test
  void aLockThatContradictsItselfIsDamaged() throws Exception {
    SegmentBucket good = locked();
    DataFile one = good.files().get(0);
    DataFile two = good.files().get(1);
    long t = good.start() + 1;
    var lines = List.of(new Line(0, 0, 0, t), new Line(1, 0, 0, t));
    forge(good, lines);
    assertEquals(1, python.read(store).size());
    assertTrue(StoreVerifier.verify(store, s.environment, f -> {}).intact());

    var bad = new ArrayList<SegmentBucket>();
    var names = List.of(files(one, one), files(two, one));
    names.forEach(f -> bad.add(SegmentBucket.closed(good.start(), f, List.of())));
    long n = one.validLength();
    for (long[] f :
        new long[][] {{n, 0}, {n, -1}, {n, 1000}, {n, Long.MAX_VALUE}, {-1, 1}, {1, 1}, {0, 1}}) {
      var other = new DataFile(one.name(), f[0], f[1]);
      bad.add(SegmentBucket.closed(good.start(), files(other, two), List.of()));
    }
    for (long[] h :
        new long[][] {
          {9, 9, 1}, {9, 8, 1}, {-1, 9, 1}, {9, 10, -1}, {n, n + 1, 1}, {9, n + 1, 1}
        }) {
      bad.add(
          SegmentBucket.closed(
              good.start(), good.files(), List.of(new Hole(one.name(), h[0], h[1], h[2]))));
    }
    var overlap = List.of(new Hole(one.name(), 9, 20, 0), new Hole(one.name(), 19, 30, 0));
    bad.add(SegmentBucket.closed(good.start(), good.files(), overlap));
    bad.add(SegmentBucket.closed(good.start() + 1, good.files(), List.of())); // not this bucket
    for (SegmentBucket bucket : bad) {
      forge(bucket, lines);
      told(lock);
    }
    for (Line wrong : List.of(new Line(2, 0, 0, t), new Line(1, 0, 1, t))) {
      forge(good, List.of(lines.get(0), wrong)); // a file and a lease set that are not there
      told(lock);
    }
    put(lock, "a letter\n".getBytes(StandardCharsets.UTF_8));
    told(lock);
    var header = SegmentHeader.ofBucket(s.store.context().identity().id(), log.id(), place());
    encoded(header, encoder -> {}); // without its bucket
    told(lock);
  }

  /** Readers go by the digest; all else is for whoever checks everything. */
  @Test
  void messagesThatCannotBeAreDamage() throws Exception {
    SegmentBucket good = locked();
    long t = good.start() + 1;
    var first = new Line(0, 0, 0, t);
    for (List<Line> bad :
        List.of(
            List.of(first),
            List.of(first, first),
            List.of(new Line(1, 0, 0, t), first),
            List.of(first, new Line(1, 1, 0, t)),
            List.of(first, new Line(1, 0, 0, t), new Line(1, 1, 0, t)),
            List.of(first, new Line(1, 0, 0, t - 1 + log.context().bucketWidth())),
            List.of(new Line(0, 0, 0, good.start() - 1), new Line(1, 0, 0, t)))) {
      forge(good, bad);
      toldByCheckers(lock);
    }
  }

  private SegmentBucket locked() throws IOException {
    return new Locks(log.context()).read(place()).orElseThrow().bucket();
  }

  @Test
  void aRecordOfMoreBucketsThanOneMayListIsDamaged() throws Exception {
    long width = log.context().bucketWidth();
    ClosedBucket real = decoded().buckets().get(0);
    var buckets = new ArrayList<ClosedBucket>();
    for (long i = HorizonRecord.MAX_BUCKETS; i >= 0; i--) {
      buckets.add(new ClosedBucket(real.start() - i * width, real.lockDigest()));
    }
    list(buckets);
    told(record);
    put(record, new byte[HorizonRecord.MAX_BYTES + 1]);
    told(record);
  }
}
