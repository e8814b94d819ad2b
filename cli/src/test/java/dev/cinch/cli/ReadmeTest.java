package dev.cinch.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
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
  /**
   * What the shell takes for cinch: it asks the test to run the command, and says what that said.
   */
  private static final String ASKING =
      """
      #!/bin/bash
      set -e
      ask=$(mktemp -d "$ASKS/XXXXXX")
      printf '%s\\n' "$@" >"$ask/args"
      env >"$ask/env"
      cat >"$ask/in"
      mkfifo "$ask/done"
      echo "$ask" >"$ASKS/asks"
      read -r code <"$ask/done"
      cat "$ask/out"
      cat "$ask/err" >&2
      exit "$code"
      """;

  @TempDir Path temp;

  private static List<String> commands() throws Exception {
    String readme = Files.readString(Path.of("..", "README.md"));
    String section = readme.substring(readme.indexOf("## For real"));
    return section.lines().filter(line -> line.startsWith("    ")).map(String::strip).toList();
  }

  /** Does what the shell asks for, until it says nothing more. */
  private static void answer(Path asks) {
    try (var asked =
        new RandomAccessFile(asks.toFile(), "rw")) { // who reads alone waits to open it
      for (String line = asked.readLine(); !line.isEmpty(); line = asked.readLine()) {
        Path ask = Path.of(line);
        var cinch = new Cinch();
        for (String variable : Files.readAllLines(ask.resolve("env"))) {
          if (variable.startsWith("CINCH_")) {
            cinch.with(variable.split("=", 2)[0], variable.split("=", 2)[1]);
          }
        }
        String[] args = Files.readAllLines(ask.resolve("args")).toArray(String[]::new);
        Cinch.Ran ran = cinch.feed(Files.readAllBytes(ask.resolve("in")), args);
        Files.write(ask.resolve("out"), ran.bytes());
        Files.writeString(ask.resolve("err"), ran.err());
        Files.writeString(ask.resolve("done"), ran.code() + "\n");
      }
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  @Test
  void theCommandsUnderForRealWorkAsPasted() throws Exception {
    Path shared = Files.createDirectory(temp.resolve("shared"));
    Path work = Files.createDirectory(temp.resolve("work"));
    Files.writeString(work.resolve("results.txt"), "one\ntwo\n");
    Files.writeString(work.resolve("jobs.txt"), "three\n");
    Path asking = Files.writeString(work.resolve("cinch"), ASKING);
    assertTrue(asking.toFile().setExecutable(true));
    Path asks = temp.resolve("asks");
    assertEquals(0, new ProcessBuilder("mkfifo", asks.toString()).start().waitFor());
    Path served = ArchivedClasses.script(Files.createDirectory(temp.resolve("process")));
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
              .replaceFirst("\\b(cinch.key|results.txt)", "\\$PWD/$1") // the test has another
              .replaceFirst("^cinch lease run", ArchivedClasses.launcher() + " lease run");
      script.append("echo '# ").append(mine.replace("'", "")).append("'\n");
      if (mine.startsWith("cinch serve")) {
        // In the background, in a process of its own: the shell goes on once it listens.
        mine =
            mine.replaceFirst("^cinch", served.toString())
                    .replace(" --advertise $SERVER", "") // which is known once it listens
                    .replaceFirst("\\s&.*", " --port 0 > served &")
                + "\ntrap \"kill $!\" EXIT\n"
                + "until grep -q listening served; do kill -0 $!; done\n"
                + "SERVER=http://127.0.0.1:$(sed -n 's/^listening.*://p' served)";
      }
      script.append(mine).append('\n');
      found++;
    }
    assertTrue(found > 10, found + " commands");
    var shell = new ProcessBuilder("bash", "-c", script.toString()).directory(work.toFile());
    Path said = temp.resolve("said");
    shell.redirectInput(new File("/dev/null"));
    shell.redirectErrorStream(true).redirectOutput(said.toFile());
    shell.environment().put("SHARED", shared.toString());
    shell.environment().put("ASKS", temp.toString());
    var answers = new Thread(() -> answer(asks));
    answers.start();
    Process process = shell.start();
    try {
      assertEquals(0, process.waitFor(), () -> read(said));
      // What is not settled yet is in the live reading.
      assertTrue(Files.readAllLines(said).containsAll(List.of("one", "two", "three")), read(said));
    } finally {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
      Files.write(asks, "\n".getBytes(UTF_8));
      answers.join();
    }
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      return e.toString();
    }
  }
}
