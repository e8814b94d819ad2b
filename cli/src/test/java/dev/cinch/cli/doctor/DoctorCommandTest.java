package dev.cinch.cli.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.cinch.cli.Cinch;
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
