package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

final class LoggingTest {
  /** There is another one for tests. */
  private static final List<String> OURS = List.of("-Dlogback.configurationFile=logback.xml");

  @TempDir private Path temp;

  /** Logs something of each kind; run in a process of its own. */
  static final class Logs {
    public static void main(String[] args) {
      Logging.install(args);
      Logger log = LoggerFactory.getLogger("dev.cinch.Some");
      log.debug("not {}", "seen");
      log.warn("{} lines\nof {}", 2, "text");
      log.error("last", new IllegalStateException("unseen"));
      LoggerFactory.getLogger("org.eclipse.jetty.Some").info("not of others");
    }
  }

  private static List<String> logged(List<String> options, String... args) throws Exception {
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin/java").toString());
    command.addAll(options);
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), Logs.class.getName()));
    command.addAll(List.of(args));
    Process process = new ProcessBuilder(command).start();
    String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    String err = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), err);
    assertEquals("", out);
    return err.lines().toList();
  }

  @Test
  void whatGoesOnLogsWarningsALineEach() throws Exception {
    List<String> lines = List.of("cinch: WARN: Some: 2 lines; of text", "cinch: ERROR: Some: last");
    assertEquals(lines, logged(OURS, "serve", "--port=0"));
    assertEquals(lines, logged(OURS, "close", "--every=1s"));
    assertEquals(lines, logged(OURS, "--debug", "cat", "--log=a", "--follow"));
    assertEquals("cinch: DEBUG: Some: not seen", logged(OURS, "serve", "--verbose").get(0));
  }

  @Test
  void shortCommandsLogWarnings() throws Exception {
    List<String> lines = logged(OURS, "cat", "--log=a");
    assertEquals(List.of("WARN 2 lines", "of text", "ERROR last"), lines.subList(0, 3));
    assertTrue(logged(OURS, "close", "-v").contains("DEBUG not seen"));
  }

  @Test
  void aFileOfTheUsersTakesThePlaceOfOurs() throws Exception {
    Path log = temp.resolve("cinch.log");
    Path file = temp.resolve("logback.xml");
    Files.writeString(
        file,
        """
        <configuration>
          <appender name="file" class="ch.qos.logback.core.rolling.RollingFileAppender">
            <file>%1$s</file>
            <rollingPolicy class="ch.qos.logback.core.rolling.TimeBasedRollingPolicy">
              <fileNamePattern>%1$s.%%d{yyyy-MM-dd}.gz</fileNamePattern>
              <maxHistory>30</maxHistory>
            </rollingPolicy>
            <encoder class="ch.qos.logback.classic.encoder.JsonEncoder"/>
          </appender>
          <root level="INFO"><appender-ref ref="file"/></root>
        </configuration>
        """
            .formatted(log));
    assertEquals(List.of(), logged(List.of("-Dlogback.configurationFile=" + file), "serve"));
    List<String> lines = Files.readAllLines(log);
    assertEquals(3, lines.size(), lines.toString());
    assertTrue(lines.get(1).contains("\"level\":\"ERROR\""), lines.get(1));
  }
}
