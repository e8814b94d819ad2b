package dev.cinch.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.audit.AuditStore;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.bag.write.LeaseStamp;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Locks and records that contradict themselves, and whose digests are right. */
class ForgedDocumentsTest {
  @TempDir Path temp;

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
    record = log.context().layout().record(1);
    ClosedBucket listed = decoded().buckets().get(0);
    Bucket bucket = Bucket.of(first, log.context().bucketWidth());
    assertEquals(bucket.start(), listed.start());
    lock = LogLayout.lock(log.context().layout().bucket(bucket));
  }

  private HorizonRecord decoded() throws IOException {
    return HorizonRecord.decode(Files.readAllBytes(record), record);
  }

  private static void put(Path file, byte[] bytes) throws IOException {
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-r--"));
    Files.write(file, bytes);
  }

  private static byte[] envelope(String type, String body) {
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    String line = "cinch %s %d %s\n".formatted(type, bytes.length, Envelope.sha256(bytes));
    return (line + body).getBytes(StandardCharsets.UTF_8);
  }

  private static String body(Path file) throws IOException {
    String text = Files.readString(file);
    return text.substring(text.indexOf('\n') + 1);
  }

  /** A record without seals that lists buckets. */
  private void list(List<ClosedBucket> buckets) throws IOException {
    put(record, decoded().withBuckets(buckets).encode());
    try (var all = Files.list(log.context().layout().recordGroup(0))) {
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
    assertEquals(file, e.path());
    var damaged = new ArrayList<Path>();
    StoreVerifier.verify(
        store,
        s.environment,
        f -> {
          if (f.severity() == Finding.Severity.DAMAGE) {
            damaged.add(f.path());
          }
        });
    assertTrue(damaged.contains(file), damaged.toString());
    Python.Run run = Python.read(temp, store, "jobs");
    assertEquals(1, run.exit(), run.err());
    assertTrue(run.err().startsWith(file + ": "), run.err());
  }

  @Test
  void aLockThatContradictsItselfIsDamaged() throws Exception {
    String good = body(lock);
    long start = decoded().buckets().get(0).start();
    Matcher files = Pattern.compile("\\{[^{}]*\"name\"[^{}]*\\}").matcher(good);
    assertTrue(files.find());
    String one = files.group();
    assertTrue(files.find());
    String two = files.group();
    assertFalse(files.find());
    String empty = one.replaceFirst("\"copy\" *: *\"[^\"]*\"", "\"copy\":\"\"");
    var bad = new ArrayList<String>();
    bad.add(good.replace(two, one)); // twice
    bad.add(good.replace(one, "1").replace(two, one).replaceFirst("1(?=\\s*,)", two)); // unsorted
    for (String field :
        List.of(
            "\"messages\":0",
            "\"messages\":-1",
            "\"messages\":1000",
            "\"messages\":9223372036854775807",
            "\"validLength\":-1",
            "\"validLength\":1",
            "\"first\":9223372036854775807")) {
      String name = field.substring(0, field.indexOf(':'));
      bad.add(good.replace(one, one.replaceFirst(name + " *: *-?[0-9]+", field)));
    }
    bad.add(
        good.replace(one, empty.replaceFirst("\"validLength\" *: *[0-9]+", "\"validLength\":0")));
    for (String document : bad) {
      assertNotEquals(good, document);
      put(lock, envelope("lock 2", document));
      list(List.of(new ClosedBucket(start, Envelope.sha256(Files.readAllBytes(lock)))));
      told(lock);
    }
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
