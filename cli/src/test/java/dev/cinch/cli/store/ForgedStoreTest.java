package dev.cinch.cli.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.SegmentBucket;
import dev.cinch.bag.format.SegmentEncoder;
import dev.cinch.bag.format.SegmentHeader;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.Name;
import dev.cinch.cli.Cinch;
import dev.cinch.lease.Altered;
import dev.cinch.lease.Id;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Locks and records that were forged: told in one line, and nothing lost. */
@SuppressWarnings("NullAway.Init")
class ForgedStoreTest {
  private static final String TEXT = "a message\n".repeat(100);

  @TempDir Path temp;

  private Cinch cinch;
  private Path lock;
  private Path record;

  @BeforeEach
  void settle() throws Exception {
    Path store = Cinch.quickStore(temp);
    cinch = Cinch.on(store);
    cinch.feed(TEXT, "append", "--log=jobs").ended(0);
    cinch.settle("jobs");
    try (var all = Files.walk(store.resolve("logs/jobs/buckets"))) {
      lock = all.filter(p -> p.endsWith("lock")).sorted().findFirst().orElseThrow();
    }
    try (var all = Files.walk(store.resolve("logs/jobs/horizon/records"))) {
      record =
          all.filter(p -> p.getFileName().toString().matches("\\d{10}"))
              .max(Comparator.naturalOrder())
              .orElseThrow();
    }
    assertTrue(Objects.requireNonNull(lock.getParent()).toFile().setWritable(true));
  }

  /** With these contents every command says so; with the right ones everything is there again. */
  private void told(Path named, Path file, byte[] content) throws IOException {
    byte[] good = Files.readAllBytes(file);
    byte[] goodRecord = Files.readAllBytes(record);
    put(file, content);
    found(named);
    put(file, good);
    put(record, goodRecord);
    intact();
  }

  private void found(Path named) {
    cinch.run("cat", "--log=jobs").failed(1, named + ": damaged at byte ");
    cinch.run("cat", "--log=jobs", "--live").failed(1, named + ": damaged at byte ");
    Cinch.Ran verified = cinch.run("verify").ended(1);
    assertTrue(verified.out().contains("damage " + named), verified.out());
    assertEquals("", verified.err());
    Cinch.Ran audited = cinch.run("audit");
    assertEquals(1, audited.code(), audited.err());
    assertTrue(audited.out().contains(named + "") || audited.err().contains(named + ""));
    Cinch.Ran built = cinch.run("view", "build", "--wait=0s");
    built.failed(1, named + ": damaged at byte ");
  }

  private void intact() {
    assertEquals(TEXT, cinch.run("cat", "--log=jobs").ended(0).out());
    assertTrue(cinch.run("verify").ended(0).out().startsWith("intact"));
  }

  private static void put(Path file, byte[] content) throws IOException {
    Files.deleteIfExists(file);
    Files.write(file, content);
  }

  private HorizonRecord decodedRecord() throws IOException {
    return HorizonRecord.decode(Files.readAllBytes(record), Name.of(record));
  }

  private static HorizonRecord listing(HorizonRecord r, List<ClosedBucket> buckets) {
    return r.withBuckets(buckets);
  }

  @Test
  void aForgedLock() throws IOException {
    SegmentHeader good = header();
    Bucket bucket = bucket();
    told(lock, lock, empty(good.store(), good.log(), new Bucket(bucket.end(), bucket.width())));
    told(lock, lock, empty(new Id(1, 2), good.log(), bucket));
    told(lock, lock, empty(good.store(), good.log(), bucket)); // the record names another digest
  }

  private SegmentHeader header() throws IOException {
    byte[] bytes = Files.readAllBytes(lock);
    return SegmentHeader.decode(
        ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN), Name.of(lock));
  }

  private Bucket bucket() throws IOException {
    return new Bucket(header().from(), header().width());
  }

  /** The lock of a bucket in which there is nothing. */
  private static byte[] empty(Id store, Id log, Bucket bucket) throws IOException {
    var out = new ByteArrayOutputStream();
    var encoder =
        new SegmentEncoder(
            SegmentHeader.ofBucket(store, log, bucket),
            bytes -> {
              var copy = new byte[bytes.remaining()];
              bytes.get(copy);
              out.writeBytes(copy);
            });
    encoder.bucket(SegmentBucket.closed(bucket.start(), List.of(), List.of()));
    encoder.end();
    return out.toByteArray();
  }

  /**
   * As where its closer was killed before it made one: only what it says is left to judge it by.
   */
  private void removeSeal() throws IOException {
    String digest = Envelope.sha256(Files.readAllBytes(record));
    Files.delete(record.resolveSibling(record.getFileName() + "." + digest));
  }

  @Test
  void aRecordThatWasAlteredAndItsDigestMadeAnew() throws IOException {
    HorizonRecord r = decodedRecord();
    told(record, record, r.withBuckets(List.of()).encode());
    told(record, record, r.withRange(r.from(), r.to() + 1_000_000_000_000L).encode());
  }

  @Test
  void aForgedRecord() throws IOException {
    removeSeal();
    HorizonRecord r = decodedRecord();
    var missing = new ArrayList<>(r.buckets());
    long earlier = bucket().start() - bucket().width(); // where there is no bucket
    missing.add(0, new ClosedBucket(earlier, "0".repeat(64)));
    byte[] before = Files.readAllBytes(record);
    put(record, listing(r, missing).encode());
    cinch.run("cat", "--log=jobs").failed(1, "expected a lock, found no file");
    assertTrue(cinch.run("verify").ended(1).out().contains("damage "));
    put(record, before);
    intact();
    told(record, record, Altered.with(r, "log", new Id(1, 2)).encode());
    told(record, record, Altered.with(r, "number", r.number() + 1).encode());
  }
}
