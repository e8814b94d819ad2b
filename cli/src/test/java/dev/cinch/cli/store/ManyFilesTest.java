package dev.cinch.cli.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.ArchivedClasses;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.Main;
import dev.cinch.cli.base.Io;
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

  /** A process that may open so few files, and runs one command after the other. */
  private static final class Few {
    public static void main(String[] args) throws Exception {
      for (String command : args) {
        int code = Main.run(command.split(" "), Io.ofProcess());
        System.out.println("ended with " + code);
      }
    }

    /** What each prints. */
    private static List<String> run(Path store, String... commands) throws Exception {
      var line = new ArrayList<>(List.of("sh", "-c"));
      line.add("ulimit -n " + DESCRIPTORS + "; exec \"$@\"");
      line.add("sh");
      line.addAll(ArchivedClasses.command());
      line.add("-Dslf4j.provider=org.slf4j.helpers.NOP_FallbackServiceProvider");
      line.add("-Dslf4j.internal.verbosity=WARN");
      line.add(Few.class.getName());
      for (String command : commands) {
        line.add(command + " --store=" + store);
      }
      Process process = new ProcessBuilder(line).redirectErrorStream(true).start();
      String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertEquals(0, process.waitFor(), said);
      String[] all = said.split("(?m)^ended with 0\n", -1);
      assertEquals(commands.length + 1, all.length, said);
      return List.of(all);
    }
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
    List<String> said =
        Few.run(
            store,
            "cat --log=jobs --live",
            "close --trust-clock",
            "cat --log=jobs",
            "salvage --log=jobs",
            "verify",
            "view build --wait=0s",
            "gc --retention=0s",
            "cat --log=jobs");
    for (int cat : List.of(0, 2, 7)) {
      assertEquals(lines.toString(), said.get(cat));
    }
    assertTrue(said.get(1).contains("(record 1, "), said.get(1));
    assertTrue(said.get(3).contains(lines), said.get(3));
    assertTrue(said.get(4).startsWith("intact"), said.get(4));
    assertTrue(said.get(5).contains("(" + FILES + " messages"), said.get(5));
    assertTrue(said.get(6).contains("jobs: deleted"), said.get(6));
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
