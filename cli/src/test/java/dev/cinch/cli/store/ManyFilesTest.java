package dev.cinch.cli.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.ArchivedClasses;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Main;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** More data files in a bucket than a process may open, and files longer than anybody can read. */
@Timeout(600)
@SuppressWarnings("NullAway.Init")
class ManyFilesTest {
  private static final int FILES = 330;
  private static final int DESCRIPTORS = 250;

  @TempDir Path temp;

  /** What a command prints that may open so few files. */
  private static String with(Path store, String command) throws IOException, InterruptedException {
    var line = new ArrayList<>(List.of("sh", "-c"));
    line.add("ulimit -n " + DESCRIPTORS + "; exec \"$@\"");
    line.add("sh");
    line.addAll(ArchivedClasses.command());
    line.add(Main.class.getName());
    line.addAll(List.of(command.split(" ")));
    line.add("--store=" + store);
    Process process = new ProcessBuilder(line).redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), said);
    return said;
  }

  @Test
  void isReadClosedBuiltAndSalvaged() throws Exception {
    Path store = Cinch.store(temp, "--bucket-width=1h", "--grace=3s", "--longest-lease=3h");
    Cinch cinch = Cinch.on(store);
    var lines = new StringBuilder();
    for (int i = 0; i < FILES; i++) {
      cinch.overdue("jobs", i + "\n", Duration.ofHours(2));
      lines.append(i).append('\n');
    }
    assertEquals(lines.toString(), with(store, "cat --log=jobs --live"));
    assertTrue(with(store, "close --trust-clock").contains("(record 1, "));
    for (String command : List.of("cat --log=jobs", "salvage --log=jobs")) {
      String said = with(store, command);
      assertTrue(said.contains(lines), command + ": " + said);
    }
    assertTrue(with(store, "verify").startsWith("intact"));
    assertTrue(with(store, "view build --wait=0s").contains("(" + FILES + " messages"));
    assertTrue(with(store, "gc --retention=0s").contains("jobs: deleted"));
    assertEquals(lines.toString(), with(store, "cat --log=jobs"));
  }

  /**
   * In the place of one file of each kind: what it held is missing, and nobody reads it to its end.
   */
  @Test
  void aHoleOfATerabyteIsTold() throws Exception {
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    cinch.settled("jobs", "one\n", Duration.ofMinutes(30));
    cinch.run("view", "build", "--wait=0s").ended(0);
    cinch.run("gc", "--retention=0s").ended(0);
    cinch.settled("jobs", "two\n", Duration.ofMinutes(20));
    String right = cinch.run("cat", "--log=jobs").ended(0).out();
    var kinds = new TreeMap<String, Path>();
    try (Stream<Path> all = Files.walk(store)) {
      all.filter(Files::isRegularFile)
          .sorted()
          .forEach(
              file ->
                  kinds.put(store.relativize(file).toString().replaceAll("[0-9a-f]", ""), file));
    }
    assertTrue(kinds.size() > 8, kinds.toString());
    Path kept = temp.resolve("kept");
    for (Path file : kinds.values()) {
      Files.move(file, kept);
      try (var hole = new RandomAccessFile(file.toFile(), "rw")) {
        hole.setLength(1L << 40);
      }
      for (String command : List.of("cat --log=jobs", "verify", "salvage --log=jobs", "close")) {
        Cinch.Ran ran = cinch.run(command.split(" "));
        String said = command + ", " + file + ": " + ran.err();
        assertFalse(ran.err().contains("unexpected") || ran.err().contains("memory"), said);
        boolean same = !command.startsWith("cat") || ran.out().equals(right);
        assertTrue(ran.code() == 1 || ran.code() == 4 || same, said);
      }
      Files.delete(file);
      Files.move(kept, file);
    }
    assertEquals(right, cinch.run("cat", "--log=jobs").ended(0).out());
  }
}
