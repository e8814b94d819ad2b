package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

class ManPagesTest {
  @TempDir Path temp;

  @Test
  void everyCommandHasAPageWithWhatItsHelpSays() {
    CommandLine all = Commands.all(Io.ofProcess());
    Map<String, String> pages = ManPages.all(all);
    assertTrue(
        pages.keySet().containsAll(java.util.List.of("cinch.1", "cinch-lease-acquire.1")),
        pages.keySet().toString());
    assertFalse(pages.containsKey("cinch-names.1"), "only shells call it");
    assertFalse(pages.getOrDefault("cinch.1", "").contains("cinch\\-names"));
    String append = pages.getOrDefault("cinch-append.1", "");
    assertTrue(append.startsWith(".TH CINCH-APPEND 1 "), append);
    for (String part :
        java.util.List.of(
            "cinch\\-append \\- append each line of the input",
            "\n.SH SYNOPSIS\n.nf\ncinch append ",
            "\n.SH COMMON OPTIONS\n.TP\n\\fB\\-\\-store=DIR\\fR\n",
            "(default: sync)",
            "\n.SH EXIT STATUS\n.TP\n\\fB0\\fR\n",
            "\\fBCINCH_STORE\\fR\nStands for \\-\\-store.\n",
            "\ncinch append \\-\\-log jobs < jobs.txt\n",
            "\n.SH SEE ALSO\ncinch(1)\n")) {
      assertTrue(append.contains(part), part + " in " + append);
    }
    for (Map.Entry<String, String> page : pages.entrySet()) {
      for (String line : page.getValue().lines().toList()) {
        assertTrue(
            !line.startsWith("'")
                && (!line.startsWith(".") || line.matches("\\.(TH|SH|TP|PP|nf|fi|nh|ad).*")),
            page.getKey() + ": " + line);
      }
    }
  }

  @Test
  void pagesAndCompletionAreWritten() throws Exception {
    Path script = temp.resolve("completions/cinch");
    ManPages.main(new String[] {temp.resolve("man").toString(), script.toString()});
    assertTrue(Files.readString(temp.resolve("man/cinch-cat.1")).startsWith(".TH CINCH-CAT 1"));
    Process check = new ProcessBuilder("bash", "-n", script.toString()).inheritIO().start();
    assertEquals(0, check.waitFor());
    assertTrue(Files.readString(script).contains("append"));
  }
}
