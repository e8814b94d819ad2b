package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ManPagesTest {
  @TempDir Path temp;

  @Test
  void pagesAndCompletionAreWritten() throws Exception {
    Path script = temp.resolve("completions/cinch");
    ManPages.main(new String[] {temp.resolve("man").toString(), script.toString()});
    assertFalse(Files.exists(temp.resolve("man/cinch-names.1")), "only shells call it");
    assertTrue(Files.exists(temp.resolve("man/cinch-lease-acquire.1")));
    String append = Files.readString(temp.resolve("man/cinch-append.1"));
    assertTrue(append.startsWith(".TH CINCH-APPEND 1 "), append);
    for (String part :
        List.of(
            "cinch\\-append \\- Append each line of the input",
            "\n.SH USAGE\n.nf\ncinch append ",
            "\n.SH EXIT CODES\n.nf\n\n  0     good\n",
            "\n.SH EXAMPLES\n.nf\n\n  cinch append \\-\\-log jobs < jobs.txt\n")) {
      assertTrue(append.contains(part), part + " in " + append);
    }
    try (Stream<Path> pages = Files.list(temp.resolve("man"))) {
      for (Path page : pages.toList()) {
        for (String line : Files.readAllLines(page)) {
          assertTrue(line.matches("([^.'].*)?|\\.(TH|SH|nf).*"), page + ": " + line);
        }
      }
    }
    Process check = new ProcessBuilder("bash", "-n", script.toString()).inheritIO().start();
    assertEquals(0, check.waitFor());
    assertEquals(new Cinch().run("completion").ended(0).out(), Files.readString(script));
  }
}
