package dev.cinch.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.audit.AuditStore;
import dev.cinch.bag.audit.Finding;
import dev.cinch.bag.audit.StoreVerifier;
import dev.cinch.bag.layout.LogName;
import dev.cinch.bag.store.StoreSettings.Leases;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.Witness;
import dev.cinch.view.Aggregator;
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
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code reader.py}, written from docs/format.md alone, reads what the Java reader reads. */
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
    Path out = temp.resolve("out");
    Path err = temp.resolve("err");
    int exit =
        new ProcessBuilder("python3", "reader.py", store.toString(), "jobs", "--json")
            .redirectOutput(out.toFile())
            .redirectError(err.toFile())
            .start()
            .waitFor();
    return new Run(exit, Files.readAllLines(out), Files.readString(err));
  }

  /** Three writers, some hundred messages of all sizes, several buckets and records, two leases. */
  private void generate() throws Exception {
    var random = new Random(11);
    var writers = List.of(s.writer(log), s.writer(log), s.writer(log));
    Witness lease = s.first("unit/1", s.clock.wallNanos() + 60 * SECOND);
    LeaseStamp one = AuditStore.stamp(s.sign(lease));
    LeaseStamp two =
        AuditStore.stamp(s.sign(lease), s.sign(s.first("unit/2", lease.expiry() - SECOND)));
    for (int i = 0; i < 300; i++) {
      LogWriter writer = writers.get(random.nextInt(3));
      var payload = new byte[random.nextInt(10) == 0 ? 30_000 : random.nextInt(300)];
      random.nextBytes(payload);
      LeaseStamp under = i % 10 == 9 ? LeaseStamp.NONE : i % 2 == 0 ? one : two;
      long timestamp = writer.append(under, payload).timestamp();
      s.clock.sleepNanos(random.nextLong(SECOND / 20));
      if (i % 100 == 99) {
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
    generate();
    List<String> expected = expected();
    assertEquals(270, expected.size());
    Run run = python();
    assertEquals(0, run.exit(), run.err());
    assertEquals(expected, run.out());
    assertEquals(30, run.err().lines().count());
  }

  @Test
  void tellsDamage() throws Exception {
    generate();
    List<Path> files;
    try (Stream<Path> all = Files.walk(store)) {
      files = all.filter(f -> f.toString().endsWith(".log")).sorted().toList();
    }
    Path file = files.get(0); // the longest: no lock has a copy of its beginning
    for (Path f : files) {
      file = Files.size(f) > Files.size(file) ? f : file;
    }
    byte[] bytes = Files.readAllBytes(file);
    bytes[200] ^= 1;
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-r--"));
    Files.write(file, bytes);
    Run run = python();
    assertEquals(1, run.exit());
    assertTrue(run.err().contains(file + ": damaged"), run.err());
    Path lock = file.resolveSibling("lock");
    byte[] other = Files.readAllBytes(lock);
    other[other.length - 2] ^= 1;
    Files.setPosixFilePermissions(lock, PosixFilePermissions.fromString("rw-rw-r--"));
    Files.write(lock, other);
    run = python();
    assertEquals(1, run.exit());
    assertTrue(run.err().contains(lock + ": damaged"), run.err());
  }

  @Test
  void readsTheTestVectors() throws Exception {
    store = Path.of("..", "docs", "vectors", "store");
    Run run = python();
    assertEquals(0, run.exit(), run.err());
    assertEquals(Files.readAllLines(store.resolveSibling("expected.jsonl")), run.out());
  }

  /** Two segments behind a checkpoint, and buckets after it. */
  private void retireHalf() throws Exception {
    generate();
    var limits = new Aggregator.Limits(2, Long.MAX_VALUE);
    assertEquals(2, new Aggregator(log, limits).run().published());
    s.clock.sleepNanos(100 * SECOND);
    generate();
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
    assertEquals(540, expected.size());
    Run run = python();
    assertEquals(0, run.exit(), run.err());
    assertEquals(expected, run.out());
    assertEquals(60, run.err().lines().count());
  }

  @Test
  void tellsDamageOfSegments() throws Exception {
    retireHalf();
    Path segment = log.context().layout().segment(2);
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
}
