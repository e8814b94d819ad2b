package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

class QuietLoggingTest {
  /** Logs something of each kind; run in a process of its own. */
  static final class Logs {
    public static void main(String[] args) {
      QuietLogging.install();
      Logger log = LoggerFactory.getLogger("dev.cinch.Some");
      log.debug("not {}", "seen");
      log.warn("{} lines\nof {}", 2, "text", new IllegalStateException("unseen"));
      log.error("last");
      LoggerFactory.getLogger("io.netty.Some").info("not of others");
    }
  }

  private static List<String> logged(String... options) throws Exception {
    var command = new java.util.ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin/java").toString());
    command.addAll(List.of(options));
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), Logs.class.getName()));
    Process process = new ProcessBuilder(command).start();
    String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    String err = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), err);
    assertEquals("", out);
    return err.lines().toList();
  }

  @Test
  void warningsAreALineEachWithoutStackTraces() throws Exception {
    assertEquals(List.of("cinch: WARN: 2 lines; of text", "cinch: ERROR: last"), logged());
  }

  @Test
  void withMoreThereIsWhenAndWhere() throws Exception {
    List<String> lines = logged("-D" + QuietLogging.LEVEL + "=DEBUG");
    assertEquals(3, lines.size(), lines.toString());
    assertTrue(lines.get(0).matches("cinch: DEBUG: [0-9:.]+ Some: not seen"), lines.get(0));
    assertFalse(lines.toString().contains("not of others"));
  }
}
