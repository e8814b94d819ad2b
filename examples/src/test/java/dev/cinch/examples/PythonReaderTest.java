package dev.cinch.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.audit.AuditStore;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.Envelope;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.format.HorizonRecord;
import dev.cinch.bag.format.HorizonRecord.ClosedBucket;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.SealName;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Altered;
import dev.cinch.lease.SignedWitness;
import dev.cinch.lease.Witness;
import dev.cinch.lease.witness.Tampering;
import dev.cinch.lease.witness.Tampering.Edit;
import dev.cinch.view.Aggregator;
import dev.cinch.view.Expiry;
import dev.cinch.view.Retention;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** {@code reader.py}, written from docs/format.md alone, reads what the Java reader reads. */
@Execution(ExecutionMode.CONCURRENT) // they wait for Python
class PythonReaderTest {
  private static final long SECOND = 1_000_000_000L;

  @TempDir Path temp;

  private Path store;
  private AuditStore s;
  private Log log;

  /** What a run printed. */
  private record Run(int exit, List<String> out, String err) {}

  @BeforeEach
  void needPython() throws Exception {
    boolean there;
    try {
      there = new ProcessBuilder("python3", "--version").start().waitFor() == 0;
    } catch (IOException e) {
      there = false;
    }
    assumeTrue(there, "SKIPPED: there is no python3, so examples/reader.py was not compared");
    store = temp.resolve("store");
    s = new AuditStore(store, Leases.REQUIRED);
    log = s.store.createLog(new LogName("jobs"));
  }

  private Run python() throws Exception {
    return run("python3", "reader.py", store.toString(), "jobs", "--json");
  }

  private Run run(String... command) throws Exception {
    Path out = temp.resolve("out");
    Path err = temp.resolve("err");
    int exit =
        new ProcessBuilder(command)
            .redirectOutput(out.toFile())
            .redirectError(err.toFile())
            .start()
            .waitFor();
    return new Run(exit, Files.readAllLines(out), Files.readString(err));
  }

  /** Three writers, messages of all sizes, several buckets and three records, two leases. */
  private void generate(int messages) throws Exception {
    var random = new Random(11);
    var writers = List.of(s.writer(log), s.writer(log), s.writer(log));
    Witness lease = s.first("unit/1", s.clock.wallNanos() + 60 * SECOND);
    LeaseStamp one = AuditStore.stamp(s.sign(lease));
    LeaseStamp two =
        AuditStore.stamp(s.sign(lease), s.sign(s.first("unit/2", lease.expiry() - SECOND)));
    for (int i = 0; i < messages; i++) {
      LogWriter writer = writers.get(random.nextInt(3));
      var payload = new byte[random.nextInt(10) == 0 ? 30_000 : random.nextInt(300)];
      random.nextBytes(payload);
      LeaseStamp under = i % 10 == 9 ? LeaseStamp.NONE : i % 2 == 0 ? one : two;
      long timestamp = writer.append(under, payload).timestamp();
      s.clock.sleepNanos(random.nextLong(15 * SECOND / messages));
      if (i % (messages / 3) == messages / 3 - 1) {
        s.settle(log, timestamp);
      }
    }
  }

  /** What the Java reader reads, as Python is to print it. */
  private List<String> expected() throws Exception {
    var expected = new ArrayList<String>();
    log.reader()
        .settled(
            Long.MIN_VALUE,
            Long.MAX_VALUE,
            true,
            m ->
                expected.add(
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
    return expected;
  }

  @Test
  void readsWhatTheJavaReaderReads() throws Exception {
    generate(300);
    List<String> expected = expected();
    assertEquals(270, expected.size());
    Run run = python();
    assertEquals(0, run.exit(), run.err());
    assertEquals(expected, run.out());
    assertEquals(30, run.err().lines().count());
  }

  /** Of a bucket of more data files than it may open. */
  @Test
  void readsManyFiles() throws Exception {
    long last = 0;
    var writers = new ArrayList<LogWriter>();
    LeaseStamp lease =
        AuditStore.stamp(s.sign(s.first("unit/1", s.clock.wallNanos() + 60 * SECOND)));
    for (int i = 0; i < 180; i++) {
      writers.add(s.writer(log));
    }
    for (int round = 0; round < 2; round++) { // so that all are begun before any ends
      for (LogWriter writer : writers) {
        last = AuditStore.append(writer, lease, "x".repeat(round * 100) + last);
      }
    }
    s.settle(log, last);
    Run run =
        run("sh", "-c", "ulimit -n 150; exec python3 reader.py \"$0\" jobs --json", "" + store);
    assertEquals(0, run.exit(), run.err());
    assertEquals(expected(), run.out());
    assertEquals(360, run.out().size());
  }

  /** One file of each kind is a pipe, and then a hole of a terabyte. */
  @Test
  void neitherWaitsForAPipeNorReadsAHole() throws Exception {
    retireHalf();
    List<String> expected = expected();
    var kinds = new TreeMap<String, Path>();
    try (Stream<Path> all = Files.walk(store)) {
      all.filter(Files::isRegularFile)
          .sorted()
          .forEach(
              file ->
                  kinds.put(store.relativize(file).toString().replaceAll("[0-9a-f]", ""), file));
    }
    assertTrue(kinds.size() > 8, kinds.toString());
    for (Path file : kinds.values()) {
      Path kept = temp.resolve("kept");
      Files.move(file, kept);
      for (String[] made :
          new String[][] {{"mkfifo", "" + file}, {"truncate", "-s", "1T", "" + file}}) {
        assertEquals(0, new ProcessBuilder(made).start().waitFor());
        Run run = python();
        assertTrue(run.exit() == 1 || run.out().equals(expected), file + ": " + run.err());
        assertFalse(run.err().contains("Traceback"), run.err());
        Files.delete(file);
      }
      Files.move(kept, file);
    }
    assertEquals(expected, python().out());
  }

  /** Rule L2: a witness whose watermark is too far ahead of its signed time permits nothing. */
  @Test
  void l2_holdsWatermarksAgainstTheBoundAsTheJavaReaderDoes() throws Exception {
    LogWriter writer = s.writer(log);
    Witness lease = s.first("unit/1", s.clock.wallNanos() + 60 * SECOND);
    long allowed = s.store.settings().watermarkAheadNanos();
    LeaseStamp most = AuditStore.stamp(s.sign(Altered.ahead(lease, allowed)));
    LeaseStamp more = AuditStore.stamp(s.sign(Altered.ahead(lease, allowed + 1)));
    s.clock.sleepNanos(5 * SECOND);
    AuditStore.append(writer, most, "taken");
    s.settle(log, AuditStore.append(writer, more, "left out"));
    assertEquals(1, expected().size());
    Run run = python();
    assertEquals(expected(), run.out());
    assertEquals(1, run.err().lines().count());
  }

  /** Of what a single edit makes of a witness, alone or of a tree, it takes none. */
  @Test
  void takesNoTamperedWitness() throws Exception {
    LogWriter writer = s.writer(log);
    long expiry = s.clock.wallNanos() + 60 * SECOND;
    SignedWitness alone = s.sign(s.first("unit/0", expiry));
    List<SignedWitness> tree =
        s.sign(List.of(s.first("unit/1", expiry), s.first("unit/2", expiry)));
    int edits = 0;
    for (SignedWitness good : List.of(alone, tree.get(1))) {
      for (Edit edit : Tampering.of(good, good.equals(alone) ? tree.get(0) : alone)) {
        AuditStore.append(writer, AuditStore.reckless(edit.witness()), edit.what());
        edits++;
      }
      s.settle(log, AuditStore.append(writer, AuditStore.reckless(good), "good"));
    }
    assertEquals(2, expected().size());
    Run run = python();
    assertEquals(expected(), run.out());
    assertEquals(edits, run.err().lines().count());
  }

  @Test
  void tellsDamageOfLocks() throws Exception {
    generate(60);
    List<String> expected = expected();
    Path lock = null;
    try (Stream<Path> all = Files.walk(store)) {
      for (Path file : all.filter(Files::isRegularFile).sorted().toList()) {
        if (file.endsWith("lock")) {
          lock = file;
        } else if (file.toString().endsWith(".log")) {
          Files.delete(file); // of buckets that are closed nobody reads them
        }
      }
    }
    assertEquals(expected, python().out());
    Path last = Objects.requireNonNull(lock);
    byte[] good = Files.readAllBytes(last);
    for (int i = 0; i < good.length; i += good.length / 5) {
      byte[] other = good.clone();
      other[i] ^= 1;
      put(last, other);
      tellsOf(last);
    }
    put(last, Arrays.copyOf(good, good.length - 1));
    tellsOf(last);
    Files.delete(last);
    tellsOf(last);
  }

  @Test
  void readsTheTestVectors() throws Exception {
    store = Path.of("..", "docs", "vectors", "store");
    Run run = python();
    assertEquals(1, run.exit(), run.err());
    assertTrue(run.err().contains(".log: damaged at byte 405: "), run.err());
    assertEquals(Files.readAllLines(store.resolveSibling("expected.jsonl")), run.out());
  }

  /** Two segments behind a checkpoint, and buckets after it. */
  private void retireHalf() throws Exception {
    generate(60);
    var limits = new Aggregator.Limits(2, Long.MAX_VALUE);
    assertEquals(2, new Aggregator(log, limits).run().published());
    s.clock.sleepNanos(100 * SECOND);
    generate(60);
    var before = StoreVerifier.verify(store, s.environment, f -> {});
    assertTrue(before.intact());
    var retired = new Retention(log, Duration.ofSeconds(1)).run();
    assertTrue(retired.buckets() > 0, retired::toString);
    var found = new ArrayList<Finding>();
    var after = StoreVerifier.verify(store, s.environment, found::add);
    assertEquals(List.of(), found);
    assertTrue(after.buckets() > 0 && after.buckets() < before.buckets());
  }

  @Test
  void readsWhatWasRetiredFromSegments() throws Exception {
    retireHalf();
    List<String> expected = expected();
    assertEquals(108, expected.size());
    Run run = python();
    assertEquals(0, run.exit(), run.err());
    assertEquals(expected, run.out());
    assertEquals(12, run.err().lines().count());
  }

  @Test
  void readsWhatIsLeftWhereMessagesExpired() throws Exception {
    retireHalf();
    int before = expected().size();
    assertEquals(1, new Expiry(log, Duration.ofSeconds(100)).run(path -> {}).segments());
    List<String> expected = expected();
    assertTrue(expected.size() < before);
    Run run = python();
    assertEquals(0, run.exit(), run.err());
    assertEquals(expected, run.out());
    Path floor = log.context().layout().floor(1).path();
    byte[] bytes = Files.readAllBytes(floor);
    Floor f = Floor.decode(bytes, Name.of(floor));
    put(floor, new Floor(log.id(), 1, f.to() + 1, 2, f.messages(), f.bytes()).encode());
    tells(log.context().layout().segment(2).path(), "to follow the one before");
    put(floor, bytes);
    Files.delete(floor);
    assertEquals(1, python().exit(), "segment 1 is missing");
  }

  @Test
  void tellsDamageOfSegments() throws Exception {
    retireHalf();
    Path segment = log.context().layout().segment(2).path();
    byte[] good = Files.readAllBytes(segment);
    Files.setPosixFilePermissions(segment, PosixFilePermissions.fromString("rw-rw-r--"));
    for (int i = 0; i < good.length; i += good.length / 37) {
      byte[] bad = good.clone();
      bad[i] ^= 1;
      Files.write(segment, bad);
      assertTrue(!StoreVerifier.verify(store, s.environment, f -> {}).intact(), "byte " + i);
      if (i % 4 == 0) {
        Run run = python();
        assertEquals(1, run.exit(), "byte " + i);
        assertTrue(run.err().contains(segment + ": damaged"), run.err());
      }
    }
    Files.delete(segment);
    Run run = python();
    assertEquals(1, run.exit());
    assertTrue(run.err().contains(segment.toString()), run.err());
  }

  /** As where the closer was killed before it made one, so that only the content tells. */
  private void removeSeals() throws IOException {
    try (var all = Files.walk(store)) {
      for (Path file : all.toList()) {
        if (SealName.parse(String.valueOf(file.getFileName())).isPresent()) {
          Files.delete(file);
        }
      }
    }
  }

  @Test
  void tellsThatTheLastRecordWasAlteredOrVanished() throws Exception {
    generate(60);
    Path last = log.context().layout().record(3).path();
    HorizonRecord good = HorizonRecord.decode(Files.readAllBytes(last), Name.of(last));
    Files.setPosixFilePermissions(last, PosixFilePermissions.fromString("rw-rw-r--"));
    Files.write(last, good.withBuckets(List.of()).encode());
    tellsOf(last);
    Files.delete(last);
    tellsOf(last);
    Files.write(last, good.encode());
    assertEquals(0, python().exit());
  }

  private void tellsOf(Path file) throws Exception {
    Run run = python();
    assertEquals(1, run.exit(), run.err());
    assertTrue(run.err().contains(file + ": damaged"), run.err());
  }

  private void tells(Path file, String expected) throws Exception {
    removeSeals();
    Log fresh = Store.open(store, s.environment).log(new LogName("jobs"));
    assertThrows(
        DamagedException.class,
        () ->
            fresh
                .reader()
                .settled(Long.MIN_VALUE, Long.MAX_VALUE, false, m -> true, (m, f, why) -> {}));
    Run run = python();
    assertEquals(1, run.exit(), run.err());
    assertTrue(run.err().contains(file.toString()), run.err());
    assertTrue(run.err().contains(expected), run.err());
  }

  /** Not just left out: with fewer keys no message would have a valid witness. */
  @Test
  void f3_tellsThatATrustedKeyIsMissing() throws Exception {
    generate(60);
    Path key = store.resolve("keys").resolve("0000000001");
    Files.delete(key);
    tells(store.resolve("keys"), "key");
  }

  @Test
  void f3_tellsItInSegmentsToo() throws Exception {
    retireHalf();
    Files.delete(store.resolve("keys").resolve("0000000001"));
    tells(store.resolve("keys"), "key");
  }

  @Test
  void tellsAFieldThatStandsTwice() throws Exception {
    generate(60);
    Path identity = log.context().layout().identity().path();
    String text = Files.readString(identity);
    String body = text.substring(text.indexOf('\n') + 1);
    body = body.replaceFirst("\\{", "{\"name\": \"other\",");
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    String head = "cinch log 1 " + bytes.length + " " + Envelope.sha256(bytes) + "\n";
    put(identity, (head + body).getBytes(StandardCharsets.UTF_8));
    assertThrows(
        DamagedException.class, () -> Store.open(store, s.environment).log(new LogName("jobs")));
    Run run = python();
    assertEquals(1, run.exit(), run.err());
    assertTrue(run.err().contains(identity.toString()), run.err());
  }

  private static void put(Path file, byte[] bytes) throws IOException {
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-r--"));
    Files.write(file, bytes);
  }

  /** All digests are right, also those in the lock and in the record: a writer that is wrong. */
  @Test
  void settingsThatAreNoJsonAreDamageInOneLine() throws Exception {
    Path settings = store.resolve("store.json");
    byte[] good = Files.readAllBytes(settings);
    for (byte[] bad : List.of(new byte[0], new byte[] {'{', '"', 'x'}, new byte[] {'{', -1, '}'})) {
      Files.write(settings, bad);
      Run run = python();
      assertEquals(1, run.exit(), run.err());
      assertEquals(
          settings + ": damaged at byte 0: expected JSON in UTF-8\n", run.err(), run.err());
    }
    Files.write(settings, good);
  }

  @Test
  void whoeverHasReadEnoughIsNoError() throws Exception {
    generate(60);
    Run run =
        run(
            "bash",
            "-c",
            "set -o pipefail; python3 reader.py \"$0\" jobs --json | head -n 1",
            store.toString());
    assertEquals(0, run.exit(), run.err());
    assertEquals("", run.err());
    assertEquals(1, run.out().size());
  }

  @Test
  void outputThatCannotBeWrittenIsOneLine() throws Exception {
    generate(60);
    for (String out : List.of(">&-", ">/dev/full")) {
      Run run = run("bash", "-c", "python3 reader.py \"$0\" jobs --json " + out, store.toString());
      assertEquals(1, run.exit(), run.err());
      assertEquals(
          1,
          run.err().lines().filter(line -> !line.contains("has no valid witness")).count(),
          run.err());
    }
  }

  /** Puts another document in place of a record; all digests are right. */
  private void rewrite(Path path, List<ClosedBucket> buckets) throws Exception {
    var record = HorizonRecord.decode(Files.readAllBytes(path), Name.of(path));
    put(path, record.withBuckets(buckets).encode());
  }

  @Test
  void tellsBucketsThatARecordListsTwiceOrOutOfItsRange() throws Exception {
    generate(60);
    Path path = log.context().layout().record(1).path();
    byte[] good = Files.readAllBytes(path);
    var buckets = HorizonRecord.decode(good, Name.of(path)).buckets();
    assertTrue(buckets.size() > 1);
    long end = HorizonRecord.decode(good, Name.of(path)).to();
    var twice = new ArrayList<>(buckets);
    twice.add(1, buckets.get(0));
    var swapped = new ArrayList<>(buckets);
    swapped.set(0, buckets.get(1));
    swapped.set(1, buckets.get(0));
    var beyond = new ArrayList<>(buckets);
    beyond.add(new ClosedBucket(end, buckets.get(0).lockDigest()));
    for (var bad : List.of(twice, swapped, beyond)) {
      rewrite(path, bad);
      tells(path, "buckets of its range in order");
      put(path, good);
    }
  }
}
