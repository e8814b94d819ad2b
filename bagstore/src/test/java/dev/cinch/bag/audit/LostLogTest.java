package dev.cinch.bag.audit;

import static dev.cinch.bag.audit.AuditStore.append;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.NotAStoreException;
import dev.cinch.bag.layout.ListedLog;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.StoreSettings.Leases;
import dev.cinch.bag.write.LeaseStamp;
import dev.cinch.bag.write.LogWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The store's list of logs: a log that is gone is missed, and nothing else is. */
class LostLogTest {
  private static final LogName JOBS = new LogName("jobs");
  private static final LogName RUNS = new LogName("runs");

  @TempDir Path temp;

  private Path root;
  private AuditStore s;
  private Log jobs;

  @BeforeEach
  void open() throws Exception {
    root = temp.resolve("store");
    s = new AuditStore(root, Leases.OPTIONAL);
    jobs = s.store.createLog(JOBS);
    Log unused = s.store.createLog(RUNS);
  }

  private List<String> findings() throws IOException {
    var found = new ArrayList<String>();
    VerifySummary unused = StoreVerifier.verify(root, s.environment, f -> found.add(f.toString()));
    return found;
  }

  private Path entry(Log log) {
    return s.store.context().layout().logName(new ListedLog(log.name(), log.id()));
  }

  private static void remove(Path directory) throws IOException {
    try (Stream<Path> all = Files.walk(directory)) {
      for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    }
  }

  @Test
  void aLogWhoseDirectoryIsGoneIsDamage() throws Exception {
    assertEquals(List.of(), findings());
    remove(root.resolve("logs/jobs"));
    String lost =
        "damage %s at byte 0: expected log %s, which log-names lists, found none"
            .formatted(root.resolve("logs/jobs"), jobs.id());
    assertEquals(List.of(lost), findings());
    Files.createDirectory(root.resolve("logs/jobs"));
    assertTrue(findings().contains(lost), "an empty directory is no log");
  }

  @Test
  void itIsNotMadeAgainAsAnotherLog() throws Exception {
    remove(root.resolve("logs/jobs"));
    var refused = assertThrows(NotAStoreException.class, () -> s.store.createLog(JOBS));
    assertEquals(
        root.resolve("logs/jobs") + " is gone, and log-names lists it: restore it from a backup",
        refused.getMessage());
    assertTrue(refused.lost());
    assertFalse(Files.exists(root.resolve("logs/jobs")));
  }

  @Test
  void anotherLogInItsPlaceIsDamage() throws Exception {
    Files.delete(entry(jobs));
    remove(root.resolve("logs/jobs"));
    Log other = s.store.createLog(JOBS);
    assertEquals(List.of(), findings());
    Files.createFile(entry(jobs));
    assertEquals(
        List.of(
            "damage %s at byte 0: expected log %s, which log-names lists, found log %s"
                .formatted(root.resolve("logs/jobs"), jobs.id(), other.id())),
        findings());
  }

  /**
   * Whoever makes a log lists it last, so a maker that stops leaves nothing that looks like loss.
   */
  @Test
  void aLogThatWasNotMadeToItsEndIsNone() throws Exception {
    Files.createDirectories(root.resolve("logs/half/buckets"));
    assertTrue(findings().stream().allMatch(f -> f.startsWith("note ")));
    Files.delete(entry(jobs)); // its maker stopped before it made the entry
    assertTrue(findings().stream().allMatch(f -> f.startsWith("note ")));
  }

  @Test
  void whoSettlesListsALogOfAnEarlierVersion() throws Exception {
    remove(root.resolve("log-names"));
    assertEquals(List.of(), findings());
    try (LogWriter writer = s.writer(jobs)) {
      s.settle(jobs, append(writer, LeaseStamp.NONE, "m"));
    }
    assertTrue(Files.exists(entry(jobs)));
    assertEquals(List.of(), findings());
    remove(root.resolve("logs/jobs"));
    assertEquals(1, findings().size());
  }

  @Test
  void whatIsNoEntryIsForeign() throws Exception {
    Files.createFile(root.resolve("log-names/jobs"));
    Files.createFile(root.resolve("log-names/jobs@1"));
    Files.createDirectory(root.resolve("log-names/never@" + jobs.id()));
    List<String> found = findings();
    assertEquals(4, found.size(), found.toString()); // the directory is none, and no such log is
    assertEquals(2, found.stream().filter(f -> f.contains("a foreign file")).count());
  }
}
