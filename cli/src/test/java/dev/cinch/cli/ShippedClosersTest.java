package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What is shipped for cron and systemd goes on after a rest, and shows when it can't. */
class ShippedClosersTest {
  private static final Path EXAMPLES = Path.of("../examples");

  private static List<String> lines(String file) throws IOException {
    return Files.readAllLines(EXAMPLES.resolve(file)).stream()
        .filter(line -> !line.isBlank() && !line.startsWith("#"))
        .toList();
  }

  @Test
  void theyNameTheServerThatIsAskedForTheTime() throws IOException {
    assertTrue(lines("crontab").stream().anyMatch(line -> line.startsWith("CINCH_SERVER=http://")));
    for (String unit : List.of("cinch-close.service", "cinch-closer.service")) {
      assertTrue(
          lines(unit).stream()
              .anyMatch(line -> line.startsWith("Environment=CINCH_SERVER=http://")));
    }
  }

  /** Or a clock that is off, or a log that nobody may settle, would be shown by nothing. */
  @Test
  void aRefusalIsAFailureOfTheUnit() throws IOException {
    assertFalse(
        lines("cinch-close.service").stream()
            .anyMatch(line -> line.startsWith("SuccessExitStatus")));
  }

  @Test
  void theyRunClose() throws IOException {
    List<String> crontab = lines("crontab");
    assertTrue(crontab.contains("* * * * * /opt/cinch/cli/bin/cinch close >/dev/null"));
    assertTrue(lines("cinch-close.service").contains("ExecStart=/opt/cinch/cli/bin/cinch close"));
    assertTrue(
        lines("cinch-closer.service")
            .contains("ExecStart=/opt/cinch/cli/bin/cinch close --every 1s"));
  }

  /**
   * Else a log has four more files for each second in which somebody wrote, for ever. One that is
   * damaged keeps no other from it.
   */
  @Test
  void theyClean() throws IOException {
    String view = "/opt/cinch/cli/bin/cinch view build --wait 1h";
    String gc = "/opt/cinch/cli/bin/cinch gc --retention 1h";
    assertTrue(
        lines("crontab").contains("17 * * * * " + view + " >/dev/null; " + gc + " >/dev/null"));
    List<String> unit = lines("cinch-clean.service");
    assertTrue(unit.indexOf("ExecStart=-" + view) < unit.indexOf("ExecStart=" + gc));
    assertTrue(unit.contains("ExecStart=-" + view));
  }
}
