package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The commands under "For real" in README.md, pasted into a shell. Only names that stand for the
 * reader's own are replaced: directory, group, host, program and file.
 */
@Timeout(600)
class ReadmeTest {
  @TempDir Path temp;

  private static List<String> commands() throws Exception {
    String readme = Files.readString(Path.of("..", "README.md"));
    String section = readme.substring(readme.indexOf("## For real"));
    return section.lines().filter(line -> line.startsWith("    ")).map(String::strip).toList();
  }

  @Test
  void theCommandsUnderForRealWorkAsPasted() throws Exception {
    Path shared = Files.createDirectory(temp.resolve("shared"));
    Path work = Files.createDirectory(temp.resolve("work"));
    Files.writeString(work.resolve("results.txt"), "one\ntwo\n");
    Files.writeString(work.resolve("jobs.txt"), "three\n");
    Path unused = ArchivedClasses.script(work);
    var script = new StringBuilder("set -e\numask 007\nPATH=$PWD:$PATH\n");
    script.append("export CINCH_STORE=\"$SHARED/store\"\n");
    int found = 0;
    for (String command : commands()) {
      String mine =
          command
              .replace("/mnt/shared", "$SHARED")
              .replace("--group hpc ", "")
              .replace("http://leases:8470", "$SERVER")
              .replace("some-program", "cat jobs.txt")
              .replaceFirst("^cinch lease run", ArchivedClasses.launcher() + " lease run");
      script.append("echo '# ").append(mine.replace("'", "")).append("'\n");
      if (mine.startsWith("cinch serve")) {
        // In the background: the shell goes on once it listens.
        mine =
            mine.replace(" --advertise $SERVER", "") // which is known once it listens
                    .replaceFirst("\\s&.*", " --port 0 > served &")
                + "\ntrap \"kill $!\" EXIT\n"
                + "until grep -q listening served; do :; done\n"
                + "SERVER=http://127.0.0.1:$(sed -n 's/^listening.*://p' served)";
      }
      script.append(mine).append('\n');
      found++;
    }
    assertTrue(found > 10, found + " commands");
    var shell = new ProcessBuilder("bash", "-c", script.toString()).directory(work.toFile());
    Path said = temp.resolve("said");
    shell.redirectErrorStream(true).redirectOutput(said.toFile());
    shell.environment().put("SHARED", shared.toString());
    Process process = shell.start();
    try {
      assertEquals(0, process.waitFor(), Files.readString(said));
      // What is not settled yet is in the live reading.
      assertTrue(
          Files.readAllLines(said).containsAll(List.of("one", "two", "three")),
          Files.readString(said));
    } finally {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
    }
  }
}
