package dev.cinch.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.audit.AuditStore;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.format.Floor;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
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
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
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
    run = python();
    assertEquals(1, run.exit(), run.err());
    assertTrue(run.err().contains("to follow the one before"), run.err());
    put(floor, bytes);
    Files.delete(floor);
    assertEquals(1, python().exit(), "segment 1 is missing");
  }

  private static void put(Path file, byte[] bytes) throws IOException {
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-r--"));
    Files.write(file, bytes);
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
}
