package dev.cinch.cli.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.format.BucketLock;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.format.LockedFile;
import dev.cinch.bag.model.Bucket;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.base.ExitCode;
import dev.cinch.lease.Altered;
import dev.cinch.lease.Id;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Locks and records that were cut short, altered or forged: told in one line, and nothing lost. */
@SuppressWarnings("NullAway.Init")
class DamagedStoreTest {
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

  private static byte[] flipped(byte[] bytes, int at) {
    byte[] other = bytes.clone();
    other[at] ^= 1;
    return other;
  }

  private HorizonRecord decodedRecord() throws IOException {
    return HorizonRecord.decode(Files.readAllBytes(record), record);
  }

  private static HorizonRecord listing(HorizonRecord r, List<ClosedBucket> buckets) {
    return r.withBuckets(buckets);
  }

  @Test
  void aLockCutShortOrCorrupted() throws IOException {
    byte[] good = Files.readAllBytes(lock);
    told(lock, lock, new byte[0]);
    told(lock, lock, Arrays.copyOf(good, 20));
    told(lock, lock, Arrays.copyOf(good, good.length - 1));
    told(lock, lock, flipped(good, good.length / 2));
    told(lock, lock, flipped(good, 3));
    told(lock, lock, "a letter\n".getBytes(java.nio.charset.StandardCharsets.UTF_8));
  }

  @Test
  void aRecordCutShortOrCorrupted() throws IOException {
    byte[] good = Files.readAllBytes(record);
    told(record, record, new byte[0]);
    told(record, record, Arrays.copyOf(good, good.length - 1));
    told(record, record, flipped(good, good.length - 5));
  }

  @Test
  void anAppendWhoseFateNobodyCanKnow() throws IOException {
    byte[] good = Files.readAllBytes(record);
    Files.delete(record);
    Cinch.Ran ran = cinch.feed("lost\n", "append", "--log=jobs");
    while (ran.code() == ExitCode.REFUSED) { // by what is left of the bucket that was settled
      ran = cinch.feed("lost\n", "append", "--log=jobs");
    }
    ran.ended(1);
    String told = ran.err();
    assertTrue(
        ran.err().contains("nobody can know what became of an append to log jobs"), ran.err());
    assertTrue(told.contains(record + ": damaged at byte 0"), told);
    assertEquals(-1, told.indexOf("Exception"), told);
    put(record, good);
  }

  @Test
  void aForgedLock() throws IOException {
    BucketLock good = BucketLock.decode(Files.readAllBytes(lock), lock);
    var next = new Bucket(good.bucket().end(), good.bucket().width());
    told(lock, lock, new BucketLock(good.store(), good.log(), next, good.files()).encode());
    told(
        lock, lock, new BucketLock(new Id(1, 2), good.log(), good.bucket(), good.files()).encode());
    told(lock, lock, longer(good, 1).encode()); // the record names another digest
    told(lock, lock, longer(good, -1).encode());
  }

  /** A lock that gives its first file another valid length. */
  private static BucketLock longer(BucketLock lock, long by) {
    var files = new ArrayList<>(lock.files());
    LockedFile f = files.get(0);
    files.set(0, Altered.with(f, "validLength", f.validLength() + by));
    return new BucketLock(lock.store(), lock.log(), lock.bucket(), files);
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
  void aForgedLockThatAForgedRecordLists() throws IOException {
    removeSeal();
    BucketLock good = BucketLock.decode(Files.readAllBytes(lock), lock);
    HorizonRecord r = decodedRecord();
    for (long by : new long[] {1, -1, 1_000_000}) {
      byte[] forged = longer(good, by).encode();
      var buckets = new ArrayList<>(r.buckets());
      buckets.replaceAll(
          b ->
              b.start() == good.bucket().start()
                  ? new ClosedBucket(b.start(), Envelope.sha256(forged))
                  : b);
      byte[] before = Files.readAllBytes(record);
      put(record, listing(r, buckets).encode());
      byte[] goodLock = Files.readAllBytes(lock);
      put(lock, forged);
      // The file contradicts it, or it contradicts itself if it is shorter than its own copy.
      cinch.run("cat", "--log=jobs").failed(1, ": damaged at byte ");
      assertTrue(cinch.run("verify").ended(1).out().contains("damage " + lock.getParent()));
      put(lock, goodLock);
      put(record, before);
      intact();
    }
  }

  @Test
  void aForgedRecord() throws IOException {
    removeSeal();
    HorizonRecord r = decodedRecord();
    var missing = new ArrayList<>(r.buckets());
    BucketLock good = BucketLock.decode(Files.readAllBytes(lock), lock);
    long earlier = good.bucket().start() - good.bucket().width(); // where there is no bucket
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
