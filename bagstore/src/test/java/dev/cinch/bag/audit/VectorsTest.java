package dev.cinch.bag.audit;

import static dev.cinch.bag.audit.AuditStore.SECOND;
import static dev.cinch.bag.audit.AuditStore.append;
import static dev.cinch.bag.audit.AuditStore.stamp;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.Finding.Severity;
import dev.cinch.bag.audit.Violation.Rule;
import dev.cinch.bag.format.BucketLock;
import dev.cinch.bag.format.FileHeader;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.KeyFile;
import dev.cinch.bag.layout.LogLayout;
import dev.cinch.bag.layout.SealName;
import dev.cinch.bag.layout.StoreLayout;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.bag.store.StoreIdentity;
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
import java.nio.file.attribute.PosixFilePermissions;
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
    for (Path directory : new StoreLayout(root).directories()) {
      Files.createDirectories(directory);
    }
    LogLayout jobs = new StoreLayout(root).log(new LogName("jobs"));
    for (Path directory : List.of(jobs.intents(), jobs.checkpoints(), jobs.segments())) {
      Files.createDirectories(directory);
    }
  }

  private Store open() throws IOException {
    return Store.open(root, Store.Environment.of(new MachineName("reader"), SystemTime.INSTANCE));
  }

  private static List<String> messages(Log log) throws IOException {
    var lines = new ArrayList<String>();
    log.reader()
        .settled(
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
            (m, file, why) -> {});
    return lines;
  }

  @Test
  void storeIsReadAsExpected() throws Exception {
    copy();
    List<String> expected = Files.readAllLines(VECTORS.resolve("expected.jsonl"));
    assertEquals(expected, messages(open().log(new LogName("jobs"))));
    assertEquals(6, expected.size());
  }

  @Test
  void verifyFindsTheLostTailAndTheBytesTooMany() throws Exception {
    copy();
    var found = new ArrayList<Finding>();
    VerifySummary summary =
        StoreVerifier.verify(
            root, Store.Environment.of(new MachineName("reader"), SystemTime.INSTANCE), found::add);
    assertTrue(summary.intact(), found::toString);
    assertEquals(
        List.of(Severity.NOTE, Severity.COVERED),
        found.stream().map(Finding::severity).sorted((a, b) -> b.compareTo(a)).toList());
    assertEquals(2, summary.records());
    assertEquals(2, summary.buckets());
  }

  @Test
  void auditReportsTheMessageWithoutLease() throws Exception {
    copy();
    AuditReport report = LeaseAuditor.audit(open());
    assertEquals(1, report.violationCount(), report::toString);
    assertEquals(Rule.WITNESS, report.violations().get(0).rule());
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
          assertArrayEquals(bytes, StoreIdentity.decode(bytes, f).encode());
          compared++;
        } else if (name.equals("lock")) {
          assertArrayEquals(bytes, BucketLock.decode(bytes, f).encode());
          compared++;
        } else if (f.toString().contains("records") && SealName.parse(name).isEmpty()) {
          assertArrayEquals(bytes, HorizonRecord.decode(bytes, f).encode());
          compared++;
        } else if (f.toString().contains("keys")) {
          assertArrayEquals(bytes, KeyFile.decode(bytes, f).encode());
          compared++;
        } else if (name.endsWith(".log")) {
          ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
          FileHeader header = FileHeader.decode(in).orElseThrow();
          assertArrayEquals(Arrays.copyOf(bytes, header.length()), header.encode().array());
          compared++;
        }
      }
    }
    assertEquals(1 + 2 + 2 + 2 + 5, compared);
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
    append(w2, stamp(s.sign(a)), "two");
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
    append(w1, stamp(s.sign(b)), "four, in two steps: " + "4".repeat(20_000));
    append(w1, stamp(s.sign(b)), "five");
    last = append(w2, stamp(second.sign(b)), "six");
    s.settle(log, last);
    append(w1, stamp(s.sign(b)), "not settled");
    List<Path> files;
    try (Stream<Path> all = Files.walk(to)) {
      files = all.filter(f -> f.toString().endsWith(".log")).sorted().toList();
    }
    for (Path f : files.subList(2, 4)) {
      Files.setPosixFilePermissions(f, PosixFilePermissions.fromString("rw-rw-r--"));
    }
    boolean longFirst = Files.size(files.get(2)) > Files.size(files.get(3));
    Path longer = files.get(longFirst ? 2 : 3);
    Files.write(files.get(longFirst ? 3 : 2), new byte[5], StandardOpenOption.APPEND);
    byte[] all = Files.readAllBytes(longer);
    Files.write(longer, Arrays.copyOf(all, all.length - 10));
    Files.write(to.resolve("expected.jsonl"), messages(log));
  }
}
