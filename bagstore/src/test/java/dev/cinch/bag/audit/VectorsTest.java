package dev.cinch.bag.audit;

import static dev.cinch.bag.audit.AuditStore.SECOND;
import static dev.cinch.bag.audit.AuditStore.append;
import static dev.cinch.bag.audit.AuditStore.stamp;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.Finding.Severity;
import dev.cinch.bag.audit.Violation.Rule;
import dev.cinch.bag.close.BucketCloser;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.KeyFile;
import dev.cinch.bag.format.StoreIdentity;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.LogLayout;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.SealName;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.bag.read.LogReader;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Ending;
import dev.cinch.lease.Fence;
import dev.cinch.lease.Watermark;
import dev.cinch.lease.Witness;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The store in {@code docs/vectors} is read as its expected messages say, and every small file in
 * it is written again with the same bytes. {@code -Dcinch.vectors=DIRECTORY} makes a new one.
 */
class VectorsTest {
  private static final Path VECTORS = Path.of("..", "docs", "vectors");

  /** Where the batch begins that is damaged. */
  private static final int HOLE = 405;

  @TempDir Path temp;

  private Path root = VECTORS;

  /** Git keeps no empty directories and no modes, and a reader may leave traces: work on a copy. */
  private void copy() throws IOException {
    Path from = VECTORS.resolve("store");
    root = temp.resolve("store");
    try (Stream<Path> all = Files.walk(from)) {
      for (Path f : all.toList()) {
        Files.copy(f, root.resolve(from.relativize(f)));
      }
    }
    for (Name directory : new StoreLayout(root).directories()) {
      Files.createDirectories(directory.path());
    }
    LogLayout jobs = new StoreLayout(root).log(new LogName("jobs"));
    for (Name directory : List.of(jobs.intents(), jobs.checkpoints(), jobs.segments())) {
      Files.createDirectories(directory.path());
    }
  }

  private Store open() throws IOException {
    return Store.open(root, Store.Environment.of(new MachineName("reader"), SystemTime.INSTANCE));
  }

  /** All that are there; then it says which were lost before their bucket was closed. */
  private static List<String> messages(Log log) {
    var lines = new ArrayList<String>();
    LogReader reader = log.reader();
    DamagedException lost =
        assertThrows(
            DamagedException.class,
            () ->
                reader.settled(
                    Long.MIN_VALUE,
                    Long.MAX_VALUE,
                    false,
                    m ->
                        lines.add(
                            "{\"timestamp\": %d, \"file\": \"%s\", \"position\": %d, \"payload\": \"%s\", \"leases\": [%s]}"
                                .formatted(
                                    m.timestamp(),
                                    m.file(),
                                    m.position(),
                                    Base64.getEncoder().encodeToString(m.payload()),
                                    String.join(
                                        ", ",
                                        m.leases().stream()
                                            .map(w -> "\"" + w.witness().name() + "\"")
                                            .toList()))),
                    (m, file, why) -> {}));
    assertEquals(HOLE, lost.offset());
    return lines;
  }

  @Test
  void storeIsReadAsExpected() throws Exception {
    copy();
    List<String> expected = Files.readAllLines(VECTORS.resolve("expected.jsonl"));
    assertEquals(expected, messages(open().log(new LogName("jobs"))));
    assertEquals(6, expected.size());
    for (Path file : dataFiles(root).subList(0, 4)) { // those of closed buckets
      Files.delete(file);
    }
    assertEquals(expected, messages(open().log(new LogName("jobs"))));
  }

  private static List<Path> dataFiles(Path root) throws IOException {
    try (Stream<Path> all = Files.walk(root)) {
      return all.filter(f -> f.toString().endsWith(".log")).sorted().toList();
    }
  }

  @Test
  void bucketsAreClosedAgainToTheSameBytes() throws Exception {
    copy();
    Log log = open().log(new LogName("jobs"));
    Path path = log.context().layout().record(2).path();
    HorizonRecord record = HorizonRecord.decode(Files.readAllBytes(path), Name.of(path));
    assertEquals(1, record.buckets().size());
    long width = log.context().bucketWidth();
    for (long start : List.of(AuditStore.START, record.buckets().get(0).start())) {
      var bucket = new Bucket(start, width);
      Path lock = LogLayout.lock(log.context().layout().bucket(bucket)).path();
      byte[] bytes = Files.readAllBytes(lock);
      Files.delete(lock);
      assertTrue(new BucketCloser(log.context()).close(bucket, end -> false).isPresent());
      assertArrayEquals(bytes, Files.readAllBytes(lock));
    }
  }

  @Test
  void verifyFindsTheHole() throws Exception {
    copy();
    var found = new ArrayList<Finding>();
    VerifySummary summary =
        StoreVerifier.verify(
            root, Store.Environment.of(new MachineName("reader"), SystemTime.INSTANCE), found::add);
    assertEquals(
        List.of(Severity.DAMAGE), found.stream().map(Finding::severity).toList(), found::toString);
    assertEquals(HOLE, found.get(0).offset());
    assertEquals(2, summary.records());
    assertEquals(2, summary.buckets());
  }

  @Test
  void auditReportsTheMessageWithoutLease() throws Exception {
    copy();
    AuditReport report = LeaseAuditor.audit(open());
    assertEquals(
        List.of(Rule.WITNESS, Rule.DAMAGE), // and what was lost
        report.violations().stream().map(Violation::rule).toList(),
        report::toString);
    assertEquals(1, report.handovers());
  }

  @Test
  void smallFilesAndHeadersAreWrittenAgainWithTheSameBytes() throws Exception {
    copy();
    int compared = 0;
    try (Stream<Path> all = Files.walk(root)) {
      for (Path f : all.filter(Files::isRegularFile).toList()) {
        byte[] bytes = Files.readAllBytes(f);
        String name = f.getFileName() + "";
        if (name.equals("store.json")) {
          assertArrayEquals(bytes, StoreIdentity.decode(bytes, Name.of(f)).encode());
          compared++;
        } else if (f.toString().contains("records") && SealName.parse(name).isEmpty()) {
          assertArrayEquals(bytes, HorizonRecord.decode(bytes, Name.of(f)).encode());
          compared++;
        } else if (f.toString().contains("keys")) {
          assertArrayEquals(bytes, KeyFile.decode(bytes, Name.of(f)).encode());
          compared++;
        } else if (name.endsWith(".log")) {
          ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
          FileHeader header = FileHeader.decode(in).orElseThrow();
          assertArrayEquals(Arrays.copyOf(bytes, header.length()), header.encode().array());
          compared++;
        }
      }
    }
    assertEquals(1 + 2 + 2 + 5, compared);
  }

  /** Not a check: makes the store anew where somebody asks for it. */
  @Test
  void make() throws Exception {
    String where = System.getProperty("cinch.vectors");
    assumeTrue(where != null, "nobody asked for new vectors");
    Path to = Path.of(where + "");
    var s = new AuditStore(to.resolve("store"), Leases.REQUIRED, true);
    SigningKey later = SigningKey.ofSeed(Arrays.copyOf(new byte[] {2}, 32));
    assertEquals(2, TrustedKeyFiles.add(s.store.context(), later.publicKey(), s.key));
    var second = new WitnessSigner(later);
    Log log = s.store.createLog(new LogName("jobs"));
    LogWriter w1 = s.writer(log);
    LogWriter w2 = s.writer(log);
    s.clock.sleepNanos(SECOND / 4);
    Witness a = s.first("unit/7", s.clock.wallNanos() + 9 * SECOND);
    LeaseStamp under = stamp(s.sign(a), s.sign(s.first("other", a.expiry())));
    append(w1, under, "one");
    append(w2, stamp(s.sign(a)), "two" + ", and packed".repeat(20));
    append(w1, LeaseStamp.NONE, "no lease: does not exist");
    long last = append(w1, under, "");
    s.settle(log, last);
    s.clock.sleepNanos(SECOND);
    Witness b =
        s.after(
            a,
            Ending.RELEASED,
            new Watermark(last, s.clock.wallNanos(), s.clock.wallNanos() + SECOND),
            Fence.NONE,
            s.clock.wallNanos() + 60 * SECOND);
    append(w1, stamp(s.sign(b)), "four");
    append(w1, stamp(s.sign(b)), "five, which is lost");
    append(w1, stamp(s.sign(b)), "six, behind a hole");
    last = append(w2, stamp(second.sign(b)), "seven");
    List<Path> files = dataFiles(to);
    boolean holeFirst = Files.size(files.get(2)) > Files.size(files.get(3));
    Path hole = files.get(holeFirst ? 2 : 3);
    byte[] all = Files.readAllBytes(hole);
    all[HOLE + 40] ^= 1;
    Files.write(hole, all);
    Files.write(files.get(holeFirst ? 3 : 2), new byte[5], StandardOpenOption.APPEND);
    s.settle(log, last);
    append(w1, stamp(s.sign(b)), "not settled");
    Files.write(to.resolve("expected.jsonl"), messages(log));
  }
}
