package dev.cinch.bag.logback;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Log;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.LogName;
import dev.cinch.bag.model.StoreSettings;
import java.io.BufferedReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Programs that log by the page's configuration, of which some are killed. */
class LoggingProcessesTest {
  private static final int PROGRAMS = 8;
  private static final int EVENTS = Integer.getInteger("cinch.events", 1_000);
  private static final Pattern LINE =
      Pattern.compile("\\S+ INFO \\[main] \\S+LoggingProgram p(\\d) - event (\\d+) of .* length");

  @TempDir Path temp;

  private final List<Process> programs = new ArrayList<>();

  @AfterEach
  void end() {
    programs.forEach(Process::destroyForcibly);
  }

  private Process start(Path config, int program, int events) throws Exception {
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin/java").toString(),
            "-Xmx64m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-XX:-UsePerfData", // of whose file it may warn, on its standard output
            "-Dlogback.configurationFile=" + config,
            "-cp",
            System.getProperty("java.class.path"),
            LoggingProgram.class.getName(),
            "p" + program,
            Integer.toString(events),
            Integer.toString(EVENTS)) // more than the queue holds
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }

  /**
   * As on the page, but for where the store is; and programs wait for room in a small queue, so
   * that of those that are killed a part is there.
   */
  private Path configuration(Path store) throws Exception {
    String page = Files.readString(Path.of("../../docs/logback.md"));
    Matcher xml = Pattern.compile("(?s)```xml\n(<configuration>.*?)```").matcher(page);
    assertTrue(xml.find(), "the page has a configuration");
    String here =
        xml.group(1)
            .replaceFirst(
                "<store>.*?</store>",
                "<store>"
                    + store
                    + "</store><whenFull>block</whenFull><queueSize>64KB</queueSize>");
    return Files.writeString(temp.resolve("logback.xml"), here);
  }

  private static void settle(Log log) throws Exception {
    log.horizon().await(log.horizon().written(), OptionalLong.empty(), left -> {});
  }

  @Test
  void noEventIsTornDoubledOrOutOfOrderAndThoseWhoEndHaveAll() throws Exception {
    Path place = temp.resolve("store");
    Store store = Store.init(place, StoreSettings.DEFAULT, Store.Environment.ofHost());
    Path config = configuration(place);
    for (int i = 0; i < PROGRAMS; i++) {
      programs.add(start(config, i, i % 2 == 0 ? EVENTS : Integer.MAX_VALUE));
    }
    for (int i = 1; i < PROGRAMS; i += 2) {
      try (BufferedReader out = programs.get(i).inputReader(StandardCharsets.UTF_8)) {
        assertEquals(EVENTS + "", out.readLine());
        programs.get(i).destroyForcibly();
      }
    }
    for (int i = 0; i < PROGRAMS; i++) {
      int code = programs.get(i).waitFor();
      assertEquals(i % 2 == 0 ? 0 : 128 + 9, code, "of p" + i);
    }
    Log log = store.log(new LogName("app"));
    settle(log);
    var next = new TreeMap<Integer, Integer>();
    try (var messages = log.messages(Instant.EPOCH, Instant.MAX)) {
      while (messages.hasNext()) {
        String text = new String(messages.next().payload(), StandardCharsets.UTF_8);
        Matcher line = LINE.matcher(text);
        assertTrue(line.matches(), text);
        int program = Integer.parseInt(line.group(1));
        int expected = next.getOrDefault(program, 0);
        assertEquals(expected, Integer.parseInt(line.group(2)), "of p" + program);
        next.put(program, expected + 1);
      }
    }
    for (int i = 0; i < PROGRAMS; i++) {
      int found = next.getOrDefault(i, 0);
      assertTrue(i % 2 == 0 ? found == EVENTS : found > 0, i + ": " + next);
    }
  }
}
