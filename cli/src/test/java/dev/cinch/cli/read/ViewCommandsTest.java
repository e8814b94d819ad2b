package dev.cinch.cli.read;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.Cinch;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Views and retention on the command line. */
@SuppressWarnings("NullAway.Init")
class ViewCommandsTest {
  private static final String INPUT = "a message\0 that is kept\n\n".repeat(5_000);

  @TempDir Path temp;

  private Path store;
  private Cinch cinch;

  @BeforeEach
  void settle() throws Exception {
    store = Cinch.quickStore(temp);
    cinch = Cinch.on(store);
    cinch.settled("jobs", INPUT);
  }

  private List<Path> files(String part) throws IOException {
    try (var all = Files.walk(store.resolve("logs/jobs").resolve(part))) {
      return all.filter(Files::isRegularFile).sorted().toList();
    }
  }

  @Test
  void segmentsHoldTheSameBytesAndAreBuiltOnce() throws Exception {
    assertEquals("", cinch.run("view", "build").ended(0).out()); // waits a day
    cinch.run("view", "build", "--wait=-1s").failed(2, "not negative");
    String built = cinch.run("view", "build", "--wait=0s").ended(0).out();
    assertTrue(
        built.matches("jobs: 1 segment up to number 1 .* \\(10000 messages, \\d+ bytes\\)\n"),
        built);
    assertEquals("", cinch.run("view", "build", "--wait=0s", "--log=jobs").ended(0).out());
    assertEquals(2, files("segments").size()); // with its seal
    for (String format : List.of("raw", "json")) {
      assertArrayEquals(
          cinch.run("cat", "--log=jobs", "--format", format).ended(0).bytes(),
          cinch.run("view", "cat", "--log=jobs", "--format", format).ended(0).bytes());
    }
    assertEquals(INPUT, cinch.run("view", "cat", "--log=jobs").out());
    cinch.run("verify").ended(0);
  }

  @Test
  void whatIsRetiredIsReadFromSegments() throws Exception {
    assertEquals("", cinch.run("gc", "--retention=0s").ended(0).out()); // no segment covers it
    cinch.run("view", "build", "--wait=0s").ended(0);
    assertEquals("", cinch.run("gc", "--retention=1h").ended(0).out());
    List<Path> before = files("");
    Cinch.Ran dry = cinch.run("gc", "--retention=0s", "--dry-run").ended(0);
    assertTrue(dry.out().contains("would delete " + store), dry.out());
    assertEquals(before, files(""));
    assertFalse(files("buckets").isEmpty());
    String gone = cinch.run("gc", "--retention=0s").ended(0).out();
    assertTrue(
        gone.matches("jobs: deleted [1-9]\\d* buckets, \\d+ records, 0 stale files\n"), gone);
    assertTrue(files("buckets").isEmpty());
    assertEquals(INPUT, cinch.run("cat", "--log=jobs").ended(0).out());
    assertEquals(INPUT, cinch.run("view", "cat", "--log=jobs").ended(0).out());
    String verified = cinch.run("verify").ended(0).out();
    assertTrue(verified.contains(" 10000 messages; 0 damaged"), verified);
  }

  @Test
  void aDamagedSegmentIsFound() throws Exception {
    cinch.run("view", "build", "--wait=0s").ended(0);
    Path segment = files("segments").get(0);
    assertTrue(segment.toFile().setWritable(true));
    byte[] bytes = Files.readAllBytes(segment);
    bytes[bytes.length / 2] ^= 1;
    Files.write(segment, bytes);
    Cinch.Ran found = cinch.run("verify").ended(1);
    assertTrue(found.out().contains("damage " + segment + " at byte "), found.out());
    cinch.run("view", "cat", "--log=jobs").failed(1, segment.toString());
    cinch.run("gc", "--retention=0s").failed(1, segment.toString());
    assertFalse(files("buckets").isEmpty()); // nothing goes that is not kept
  }

  /** Segments are built once their oldest is a day old, so the first run mostly builds none. */
  @Test
  void aBuildSaysOnATerminalWhyItBuiltNothing() {
    assertEquals("", cinch.run("view", "build").ended(0).err(), "quiet in a pipe");
    Cinch.Ran none = cinch.onTerminal().run("view", "build").ended(0);
    assertEquals("", none.out());
    assertTrue(
        none.err().contains("jobs: nothing to build yet; segments go through no time"), none.err());
    Cinch.Ran built = cinch.run("view", "build", "--wait=0s").ended(0);
    assertTrue(built.out().startsWith("jobs: 1 segment up to number 1 through "), built.out());
    assertFalse(built.err().contains("nothing to build"), built.err());
  }

  @Test
  void misuse() {
    cinch.run("view").failed(2, "name a command");
    cinch.run("gc").failed(2, "--retention");
    cinch.run("gc", "--retention=-1s").failed(2, "not negative");
    cinch.run("view", "cat", "--log=none").failed(4, "there is no log");
  }
}
