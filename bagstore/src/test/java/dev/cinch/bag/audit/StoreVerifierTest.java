package dev.cinch.bag.audit;

import static dev.cinch.bag.audit.AuditStore.SECOND;
import static dev.cinch.bag.audit.AuditStore.append;
import static dev.cinch.bag.audit.AuditStore.stamp;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.audit.Finding.Severity;
import dev.cinch.bag.model.Bucket;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.store.StoreContext;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import dev.cinch.lease.witness.PublicKey;
import dev.cinch.lease.witness.SigningKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What verify lets pass, and what it finds. */
class StoreVerifierTest {
  @TempDir Path temp;

  private Path root;
  private AuditStore s;
  private Log log;

  @BeforeEach
  void open() throws Exception {
    root = temp.resolve("store");
    s = new AuditStore(root, Leases.OPTIONAL);
    log = s.store.createLog(new LogName("jobs"));
  }

  /** Two settled buckets under two records, the first with a file of two batches. */
  private void fill() throws Exception {
    try (LogWriter writer = s.writer(log)) {
      append(writer, stamp(s.sign(s.first("u", s.clock.wallNanos() + 9 * SECOND))), "one");
      long first = append(writer, LeaseStamp.NONE, "two");
      s.settle(log, first);
      long last = append(writer, LeaseStamp.NONE, "three");
      s.settle(log, last);
    }
  }

  private final List<Finding> found = new ArrayList<>();

  private VerifySummary verify() throws IOException {
    found.clear();
    return StoreVerifier.verify(root, s.environment, found::add);
  }

  private List<Path> files() throws IOException {
    try (Stream<Path> all = Files.walk(root)) {
      return all.filter(Files::isRegularFile).sorted().toList();
    }
  }

  /** All but data files of closed buckets, which say nothing any more. */
  private List<Path> read() throws IOException {
    return files().stream()
        .filter(f -> !f.toString().endsWith(".log") || !Files.exists(f.resolveSibling("lock")))
        .toList();
  }

  private static void put(Path file, byte[] bytes) throws IOException {
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-r--"));
    Files.write(file, bytes, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING);
  }

  @Test
  void cleanStorePasses() throws Exception {
    fill();
    VerifySummary summary = verify();
    assertEquals(List.of(), found);
    assertTrue(summary.intact());
    assertEquals(1, summary.logs());
    assertEquals(2, summary.records());
    assertEquals(2, summary.buckets());
    assertEquals(3, summary.messages());
    assertEquals(read().size(), summary.files());
  }

  @Test
  void findsHolesOfAnOpenBucketAndThenInItsLock() throws Exception {
    long last;
    try (LogWriter writer = s.writer(log)) {
      append(writer, LeaseStamp.NONE, "a".repeat(40_000));
      append(writer, LeaseStamp.NONE, "b".repeat(40_000));
      last = append(writer, LeaseStamp.NONE, "c");
    }
    Path file = dataFiles().get(0);
    byte[] good = Files.readAllBytes(file);
    for (int i = 0; i < 80_000; i += 997) {
      byte[] bad = good.clone();
      bad[i] ^= 1;
      put(file, bad);
      assertFalse(verify().intact(), "byte " + i);
    }
    byte[] bad = good.clone();
    bad[50_000] ^= 1;
    put(file, bad);
    for (String when : List.of("open", "closed")) {
      VerifySummary summary = verify();
      assertEquals(1, summary.damage(), found::toString);
      assertEquals(2, summary.messages(), when);
      assertEquals(Name.of(file), found.get(0).path());
      assertTrue(found.get(0).offset() > 40_000 && found.get(0).offset() < 50_000);
      s.settle(log, last);
    }
  }

  private List<Path> dataFiles() throws IOException {
    return files().stream().filter(f -> f.toString().endsWith(".log")).toList();
  }

  @Test
  void notesWhatDoesNotExistForReaders() throws Exception {
    fill();
    Path bucket = java.util.Objects.requireNonNull(dataFiles().get(0).getParent());
    Files.setPosixFilePermissions(bucket, PosixFilePermissions.fromString("rwxrwxr-x"));
    Files.writeString(bucket.resolve("notes.txt"), "mine");
    Files.writeString(bucket.resolve("m2-" + "0".repeat(32) + ".log"), "late");
    var late = Bucket.of(AuditStore.START - 100 * SECOND, SECOND);
    Files.createDirectories(log.context().layout().bucket(late).path());
    VerifySummary summary = verify();
    assertEquals(3, summary.notes(), found::toString);
    assertTrue(summary.intact());
  }

  /** Whoever may create files in the store may have left them. */
  @Test
  void notesWhatNoKeySignedOfTheLeaseService() throws Exception {
    fill();
    StoreContext store = log.context().store();
    var instance = new StoreInstances(store, s.key);
    long number = instance.takeNumber();
    assertTrue(instance.publishCeiling(1_767_225_600_000_000_000L));
    assertEquals(0, verify().notes(), found::toString);
    var strays =
        List.of(
            store.layout().ceilings().resolve("%010d-%d".formatted(number, Long.MAX_VALUE)),
            store.layout().ceilings().resolve("0000000001-"),
            store.layout().instances().resolve("0000000007"),
            store.layout().instances().resolve("0000000007." + "a".repeat(128)),
            store.layout().instances().resolve("mine"));
    for (Name stray : strays) {
      Files.createFile(stray.path());
    }
    assertTrue(verify().intact());
    assertEquals(Set.copyOf(strays), Set.copyOf(found.stream().map(Finding::path).toList()));
  }

  @Test
  void tornTailOfAnOpenBucketIsANote() throws Exception {
    fill();
    try (LogWriter writer = s.writer(log)) {
      append(writer, LeaseStamp.NONE, "four");
      append(writer, LeaseStamp.NONE, "five");
    }
    assertEquals(5, verify().messages());
    assertEquals(List.of(), found);
    Path file =
        dataFiles().stream()
            .filter(f -> !Files.exists(f.resolveSibling("lock")))
            .findFirst()
            .orElseThrow();
    byte[] good = Files.readAllBytes(file);
    put(file, Arrays.copyOf(good, good.length - 1));
    assertEquals(4, verify().messages());
    assertEquals(Severity.NOTE, found.get(0).severity());
    assertEquals("a torn tail", found.get(0).actual());
  }

  /** Fences and leases know logs by their ids. */
  @Test
  void findsALogThatWasCopied() throws Exception {
    fill();
    Path jobs = log.context().layout().root().path();
    Path copy = jobs.resolveSibling("copy");
    for (Path from : walk(jobs)) {
      Files.copy(from, copy.resolve(jobs.relativize(from)));
    }
    VerifySummary summary = verify();
    assertEquals(1, summary.logs(), "the copy is none");
    assertEquals(1, summary.damage(), found::toString);
    assertEquals(Name.of(copy.resolve("identity")), found.get(0).path());
    assertEquals("the identity of log copy", found.get(0).expected());
    assertEquals("that of log jobs", found.get(0).actual());
  }

  private static List<Path> walk(Path directory) throws IOException {
    try (Stream<Path> all = Files.walk(directory)) {
      return all.toList();
    }
  }

  @Test
  void tellsHowItGetsOn() throws Exception {
    fill();
    var seen = new ArrayList<Path>();
    VerifySummary summary =
        StoreVerifier.verify(
            root,
            s.environment,
            new VerifyListener() {
              @Override
              public void found(Finding finding) {}

              @Override
              public void progress(Name file, VerifySummary soFar) {
                seen.add(file.path());
              }
            });
    assertEquals(read(), seen.stream().sorted().toList());
    long bytes = 0;
    for (Path f : read()) {
      bytes += Files.size(f);
    }
    assertEquals(bytes, summary.bytes());
  }

  @Test
  void f3_aKeyThatIsAddedMeanwhileIsNoDamage() throws Exception {
    fill();
    VerifySummary summary =
        StoreVerifier.verify(
            root,
            s.environment,
            new VerifyListener() {
              @Override
              public void found(Finding finding) {
                found.add(finding);
              }

              @Override
              public void progress(Name file, VerifySummary soFar) {
                if (file.last().equals("identity")) {
                  addKeyAndSettle();
                }
              }
            });
    assertEquals(List.of(), found);
    assertEquals(3, summary.records());
    assertEquals(read().size(), summary.files());
  }

  private void addKeyAndSettle() {
    try (LogWriter writer = s.writer(log)) {
      PublicKey second = SigningKey.ofSeed(Arrays.copyOf(new byte[] {2}, 32)).publicKey();
      assertEquals(2, TrustedKeyFiles.add(s.store.context(), second, s.key));
      s.settle(log, append(writer, LeaseStamp.NONE, "four"));
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void findsAKeyThatIsMissingAmongOthers() throws Exception {
    fill();
    addKeyAndSettle();
    assertTrue(verify().intact());
    Path first = s.store.context().layout().keys().resolve("0000000001").path();
    byte[] good = Files.readAllBytes(first);
    Files.delete(first);
    VerifySummary unused = verify();
    assertEquals(Name.of(first), found.get(0).path());
    assertEquals(Severity.DAMAGE, found.get(0).severity());
    Files.write(first, good);
    assertTrue(verify().intact());
  }
}
