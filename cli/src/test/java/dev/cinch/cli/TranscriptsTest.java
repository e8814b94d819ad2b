package dev.cinch.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DynamicContainer;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Command lines and what comes of them, as written down; see {@link Transcript}. */
@Timeout(600) // what is not refused may go on
class TranscriptsTest {
  private static final Path ALL = Path.of("src/test/resources/dev/cinch/cli/transcripts");

  @TempDir Path temp;

  @TestFactory
  List<DynamicContainer> transcripts() throws IOException {
    var files = new ArrayList<DynamicContainer>();
    try (var names = Files.list(ALL)) {
      for (Path file : names.sorted().toList()) {
        var cases = new ArrayList<DynamicTest>();
        for (Transcript.Case one : Transcript.read(file)) {
          cases.add(DynamicTest.dynamicTest(one.name(), () -> run(file, one)));
        }
        files.add(DynamicContainer.dynamicContainer(file.getFileName().toString(), cases));
      }
    }
    return files;
  }

  private void run(Path file, Transcript.Case one) throws Exception {
    Path own = Files.createDirectory(temp.resolve(file.getFileName() + "-" + one.line()));
    try (var transcript = new Transcript(own)) {
      transcript.run(one);
    }
  }
}
