package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.DynamicContainer;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Command lines and what comes of them, as written down; see {@link Transcript}. */
@Timeout(600) // what is not refused may go on
class TranscriptsTest {
  private static final Path ALL = Path.of("src/test/resources/dev/cinch/cli/transcripts");

  /** The commands that open a store, but for those on its files. */
  private static final Set<String> IN_ANY_STORAGE =
      Set.of(
          "append", "audit", "cat", "close", "expire", "gc", "log", "logs", "names", "sql",
          "status", "verify", "view");

  @TempDir Path temp;

  @TestFactory
  List<DynamicContainer> transcripts() throws IOException {
    var files = new ArrayList<DynamicContainer>();
    var inMemory = new TreeSet<String>();
    try (var names = Files.list(ALL)) {
      for (Path file : names.sorted().toList()) {
        var cases = new ArrayList<DynamicTest>();
        for (Transcript.Case one : Transcript.read(file)) {
          cases.add(DynamicTest.dynamicTest(one.name(), () -> run(file, one, "")));
          if (one.isForAnyStorage()) {
            cases.add(DynamicTest.dynamicTest("mem: " + one.name(), () -> run(file, one, "mem:")));
            inMemory.addAll(one.commands().toList());
          }
        }
        files.add(DynamicContainer.dynamicContainer(file.getFileName().toString(), cases));
      }
    }
    assertEquals(Set.of(), difference(IN_ANY_STORAGE, inMemory), "not tried in memory");
    return files;
  }

  private static Set<String> difference(Set<String> all, Set<String> without) {
    var rest = new TreeSet<>(all);
    rest.removeAll(without);
    return rest;
  }

  private void run(Path file, Transcript.Case one, String scheme) throws Exception {
    String name = file.getFileName() + "-" + one.line() + scheme.replace(':', '-');
    Path own = Files.createDirectory(temp.resolve(name));
    try (var transcript = new Transcript(own, scheme)) {
      transcript.run(one);
    }
  }
}
