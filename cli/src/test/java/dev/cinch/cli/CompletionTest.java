package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What bash offers when somebody presses the key; {@code cinch} itself is one that tells. */
final class CompletionTest {
  @TempDir private Path temp;

  @BeforeEach
  void write() throws Exception {
    Files.write(temp.resolve("script"), new Cinch().run("completion").ended(0).bytes());
    Path fake = temp.resolve("cinch");
    Files.writeString(
        fake,
        """
        #!/bin/sh
        echo "$*" >> "$(dirname "$0")/asked"
        echo jobs; echo jobs-2; echo other
        echo oh dear >&2
        """);
    assertTrue(fake.toFile().setExecutable(true));
  }

  /** The words of the line, the last of which is to be completed. */
  private List<String> offered(String... words) throws Exception {
    var line = new StringBuilder();
    for (String word : words) {
      line.append('\'').append(word).append("' ");
    }
    String program =
        "PATH='%s':$PATH; source '%s'; COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); COMP_LINE=\"${COMP_WORDS[*]}\"; COMP_POINT=${#COMP_LINE}; _cinch_names; printf '%%s\\n' \"${COMPREPLY[@]}\""
            .formatted(temp, temp.resolve("script"), line);
    Process bash = new ProcessBuilder("bash", "-c", program).redirectErrorStream(true).start();
    String said = new String(bash.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, bash.waitFor(), said);
    return said.lines().filter(l -> !l.isEmpty()).toList();
  }

  /** Through its {@code bashcompinit}, which the script turns on. */
  @Test
  void namesOfLogsInZsh() throws Exception {
    Path zsh = Path.of("/usr/bin/zsh");
    assumeTrue(
        Files.isExecutable(zsh), "SKIPPED: there is no zsh, so completion was not tried there");
    String program =
        "autoload -Uz compinit; compinit -u -D; PATH='%s':$PATH; source '%s'; setopt ksharrays; COMP_WORDS=(cinch cat --log j); COMP_CWORD=3; _cinch_names; printf '%%s\\n' \"${COMPREPLY[@]}\""
            .formatted(temp, temp.resolve("script"));
    Process shell =
        new ProcessBuilder(zsh.toString(), "-f", "-c", program).redirectErrorStream(true).start();
    String said = new String(shell.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, shell.waitFor(), said);
    assertTrue(said.startsWith("jobs\njobs-2\n"), said);
    assertEquals("names logs j\n", asked());
  }

  private String asked() throws Exception {
    return Files.readString(temp.resolve("asked"));
  }

  @Test
  void namesOfLogs() throws Exception {
    List<String> jobs = List.of("jobs", "jobs-2");
    assertEquals(jobs, offered("cinch", "cat", "--log", "j"));
    assertEquals("names logs j\n", asked());
    assertEquals(jobs, offered("cinch", "append", "--log", "=", "j"));
    assertEquals(jobs, offered("cinch", "log", "rm", "j"));
    assertEquals(List.of("jobs", "jobs-2", "other"), offered("cinch", "verify", "--log", "="));
  }

  @Test
  void namesOfLeasesOfTheStoreAndServerOnTheLine() throws Exception {
    assertEquals(
        List.of("other"),
        offered("cinch", "append", "--store", "/s", "--server=http://h:1", "--lease", "o"));
    assertEquals("names --store=/s --server=http://h:1 leases o\n", asked());
    for (String verb : List.of("acquire", "show", "who", "run", "revoke", "watch")) {
      assertEquals(List.of("other"), offered("cinch", "lease", verb, "o"), verb);
    }
  }

  /** The one on the line is asked, which need not be on the PATH. */
  @Test
  void theCommandOnTheLineIsAsked() throws Exception {
    Path elsewhere = Files.createDirectory(temp.resolve("elsewhere"));
    Files.move(temp.resolve("cinch"), elsewhere.resolve("cinch"));
    String cinch = elsewhere.resolve("cinch").toString();
    assertEquals(List.of("jobs", "jobs-2"), offered(cinch, "cat", "--log", "j"));
  }

  @Test
  void allElseIsTheCommandsAndOptions() throws Exception {
    assertEquals(List.of("close"), offered("cinch", "clo"));
    assertTrue(offered("cinch", "cat", "--fo").contains("--follow"));
    assertTrue(offered("cinch", "lease", "show", "--se").contains("--server"));
    assertEquals(List.of(), offered("cinch", "names"), "is hidden");
    assertTrue(Files.notExists(temp.resolve("asked")));
  }
}
