package dev.cinch.cli.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.base.MachineNames;
import dev.cinch.lease.time.SystemTime;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What doctor says of whole stores. */
@SuppressWarnings("NullAway.Init")
@Timeout(600)
class DoctorCommandTest {
  @TempDir Path temp;

  private Path store;
  private Cinch cinch;

  @BeforeEach
  void append() {
    store = Cinch.quickStore(temp);
    cinch = Cinch.on(store);
    cinch.feed("a\n", "append", "--log=jobs").ended(0);
  }

  private static List<Path> everything(Path place) throws IOException {
    try (var all = Files.walk(place)) {
      return all.sorted().toList();
    }
  }

  private static void delete(Path place) throws IOException {
    for (Path path : everything(place).stream().sorted((a, b) -> b.compareTo(a)).toList()) {
      Files.delete(path);
    }
  }

  private static long count(Cinch.Ran ran, String start) {
    return ran.out().lines().filter(l -> l.startsWith(start)).count();
  }

  /** A closer takes permissions away: what it has done is no reason to complain. */
  @Test
  void namesWhatCanNotBeClosedUnlessItIs() throws Exception {
    Path data =
        everything(store).stream().filter(p -> p.toString().endsWith(".log")).findFirst().get();
    Path foreign = data.resolveSibling("m9-00000000000000000000000000000000.log");
    Files.createSymbolicLink(foreign, temp.resolve("nothing"));
    Cinch.Ran open = cinch.run("doctor").ended(1);
    assertTrue(open.out().contains("FAIL no access to " + foreign), open.out());
    assertTrue(open.out().contains("FAIL " + foreign + ": expected a regular file"), open.out());
    Files.createFile(data.resolveSibling("lock"));
    Cinch.Ran closed = cinch.run("doctor").ended(0);
    assertTrue(closed.out().contains("files not settled yet"), closed.out());
  }

  /** A log that nobody closes must not keep doctor busy for hours. */
  @Test
  void onlySoManyBucketsAreLookedAt() throws Exception {
    cinch.overdue("jobs", "b\n");
    var environment = Store.Environment.of(MachineNames.ofHost(), SystemTime.INSTANCE);
    Log log = Store.open(store, environment).log(new LogName("jobs"));
    for (int most = 1; most <= 2; most++) {
      var access = new StoreAccess();
      new LogProbes(log, access, most).run();
      assertEquals(most < 2, access.cutShort);
      assertEquals(2 * most, access.files); // of each a prelock and a data file
    }
  }

  @Test
  void saysWhatWasNotTried() {
    List<String> lines = cinch.run("doctor").ended(0).out().lines().toList();
    assertTrue(lines.get(lines.size() - 1).startsWith("note a power cut was not tried — "));
  }

  @Test
  void aStoreThatLostItsSettingsIsNoNewOne() throws Exception {
    Files.delete(store.resolve("store.json"));
    Cinch.Ran lost = cinch.run("doctor").ended(1);
    assertTrue(lost.out().contains("FAIL store.json is missing — "), lost.out());
    assertTrue(lost.out().contains("restore that from a backup"), lost.out());
    assertFalse(lost.out().contains("no store yet"), lost.out());
    delete(store.resolve("logs/jobs")); // as an init that was cut short leaves it
    assertEquals(1, count(cinch.run("doctor").ended(0), "warn no store yet"));
  }

  @Test
  void aLogWithoutAnIdentityIsNoFailure() throws Exception {
    Files.createDirectory(store.resolve("logs/aborted"));
    Cinch.Ran ran = cinch.run("doctor").ended(0);
    assertTrue(ran.out().contains("warn no identity yet: " + store + "/logs/aborted — "));
    assertTrue(ran.out().contains("ok   2 files not settled yet — "), ran.out()); // those of jobs
  }

  @Test
  void oneBadLogHidesNoOther() throws Exception {
    cinch.feed("a\n", "append", "--log=bad").ended(0);
    cinch.feed("a\n", "append", "--log=worse").ended(0);
    Files.delete(store.resolve("logs/worse/identity"));
    Path bad = store.resolve("logs/bad/identity");
    Files.delete(bad);
    Files.writeString(bad, "nonsense");
    Cinch.Ran ran = cinch.run("doctor").ended(1);
    assertEquals(2, count(ran, "FAIL "), ran.out());
    assertTrue(ran.out().contains("FAIL log bad: " + bad + ": damaged at byte 0"), ran.out());
    assertTrue(ran.out().contains("FAIL log worse: there is no log \"worse\""), ran.out());
    assertTrue(ran.out().contains("ok   2 files not settled yet — "), ran.out());
  }

  @Test
  void aPartOfTheStoreOnAnotherFilesystemIsNamed() throws Exception {
    Path memory = Path.of("/dev/shm");
    assumeTrue(Files.isWritable(memory), "no " + memory);
    assumeTrue(
        !Files.getAttribute(memory, "unix:dev").equals(Files.getAttribute(temp, "unix:dev")),
        "the test's directory is on the same filesystem as " + memory);
    Path elsewhere = Files.createTempDirectory(memory, "cinch-test");
    try {
      Path keys = store.resolve("keys");
      delete(keys);
      Files.createSymbolicLink(keys, elsewhere);
      Cinch.Ran ran = cinch.run("doctor").ended(1);
      assertTrue(ran.out().contains("FAIL on another filesystem than the store: " + keys + " — "));
      assertTrue(ran.out().contains("FAIL " + keys + ": expected a directory, found a symb"));
      assertEquals(2, count(ran, "FAIL "), ran.out());
    } finally {
      Files.delete(elsewhere);
    }
  }

  /** Each needs another remedy. */
  @Test
  void aStoreThatIsNotThereIsMissingAndNotOfAnotherKind() throws Exception {
    Cinch.on(temp.resolve("none")).run("doctor").failed(4, "none: no such file or directory");
    Path file = Files.createFile(temp.resolve("file"));
    Cinch.on(file).run("doctor").failed(4, "file: not a directory");
    Cinch.on(file.resolve("x"))
        .run("doctor")
        .failed(4, "x: something on the way to it is not a directory");
  }
}
