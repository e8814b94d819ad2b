package dev.cinch.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.bag.Closer;
import dev.cinch.bag.Store;
import dev.cinch.bag.model.MachineName;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.registry.StoreInstances;
import dev.cinch.bag.store.TrustedKeyFiles;
import dev.cinch.lease.instance.ServiceInstance;
import dev.cinch.lease.server.LeaseServer;
import dev.cinch.lease.time.SystemTime;
import dev.cinch.lease.witness.SigningKey;
import dev.cinch.lease.witness.WitnessSigner;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The programs of docs/library.md, as a user's project runs them. */
class LibraryPageTest {
  private static final Path SOURCES = Path.of("src/main/java/dev/cinch/examples/library");

  private static final List<String> PROGRAMS =
      List.of("AppendUnderLease", "ReadLog", "FollowLog", "CheckStore", "HoldLease");

  @TempDir Path temp;

  @Test
  void thePageHasTheProgramsThatAreRunHere() throws Exception {
    String page = Files.readString(Path.of("../docs/library.md"));
    var shown = new ArrayList<String>();
    var blocks = Pattern.compile("(?s)```java\n(.*?)```").matcher(page);
    while (blocks.find()) {
      shown.add(blocks.group(1));
    }
    var programs = new ArrayList<String>();
    for (String name : PROGRAMS) {
      programs.add(Files.readString(SOURCES.resolve(name + ".java")));
    }
    // The build runs it with the other tests.
    programs.add(
        Files.readString(Path.of("src/test/java/dev/cinch/examples/library/JobsTest.java")));
    assertEquals(programs, shown);
    String pom = Files.readString(Path.of("../pom.xml"));
    String version = pom.replaceAll("(?s).*?<version>(.*?)</version>.*", "$1");
    assertTrue(page.contains("<version>" + version + "</version>"), version);
  }

  /** The class path of a project that depends on bagstore and nothing else. */
  private static String classPath() {
    return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator, -1))
        .filter(
            p ->
                !p.matches(
                    ".*(org/eclipse/jetty|netty|prometheus|picocli|logback|cinch-cli|/cli/target|-tests|jimfs|cinch-testkit|/testkit/target).*"))
        .collect(Collectors.joining(File.pathSeparator));
  }

  private static final String PACKAGE = "dev.cinch.examples.library.";

  /** The programs as a module that asks for Cinch's two and nothing else. */
  private Path module() throws Exception {
    Path sources = Files.createDirectory(temp.resolve("program"));
    Path info = sources.resolve("module-info.java");
    Files.writeString(info, "module program { requires dev.cinch.bag; requires dev.cinch.lease; }");
    var arguments = new ArrayList<>(List.of("-p", classPath(), "-d", sources.resolve("out") + ""));
    arguments.add(info.toString());
    for (String name : PROGRAMS) {
      arguments.add(SOURCES.resolve(name + ".java").toString());
    }
    var said = new ByteArrayOutputStream();
    int code =
        ToolProvider.getSystemJavaCompiler()
            .run(null, said, said, arguments.toArray(String[]::new));
    assertEquals(0, code, () -> said.toString(StandardCharsets.UTF_8));
    return sources.resolve("out");
  }

  private static Process start(String program, Object... args) throws Exception {
    return start(List.of("-cp", classPath(), PACKAGE + program), args);
  }

  private static Process start(List<String> path, Object... args) throws Exception {
    var command =
        new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin/java").toString()));
    command.addAll(path);
    for (Object arg : args) {
      command.add(arg.toString());
    }
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
  }

  private static String run(String program, Object... args) throws Exception {
    return end(start(program, args));
  }

  private static String end(Process process) throws Exception {
    String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), process.info() + ": " + out);
    return out;
  }

  private static void settle(Store store) throws Exception {
    new Closer(store, List.of(), null, new Closer.Listener() {}).await(OptionalLong.empty(), false);
  }

  @Test
  void theProgramsRunWithoutJettyAndNetty() throws Exception {
    Path place = temp.resolve("store");
    var me = Store.Environment.of(new MachineName("server"), SystemTime.INSTANCE);
    Store store = Store.init(place, StoreSettings.DEFAULT, me);
    SigningKey key = SigningKey.generate();
    long unused = TrustedKeyFiles.add(store.context(), key);
    ServiceInstance service =
        ServiceInstance.builder(new WitnessSigner(key), SystemTime.INSTANCE)
            .registry(new StoreInstances(store.context(), key))
            .start();
    try (LeaseServer server = LeaseServer.builder(service, service::info).port(0).start()) {
      String url = "http://127.0.0.1:" + server.port();
      assertEquals("committed\n", run("AppendUnderLease", place, url, "hello"));
      settle(store);
      String read = run("ReadLog", place);
      assertTrue(read.matches("\\d{4}-\\d\\d-\\d\\dT[0-9:.]+Z \\[jobs/42] hello\n"), read);
      assertEquals("1 logs, 0 problems\n", run("CheckStore", place));
      String modules = module() + File.pathSeparator + classPath();
      assertEquals(
          read, end(start(List.of("-p", modules, "-m", "program/" + PACKAGE + "ReadLog"), place)));
      Process follower = start("FollowLog", place);
      try (BufferedReader out = follower.inputReader(StandardCharsets.UTF_8)) {
        assertTrue(String.valueOf(out.readLine()).endsWith(" hello"));
        assertEquals("committed\n", run("AppendUnderLease", place, url, "end"));
        settle(store);
        assertTrue(String.valueOf(out.readLine()).endsWith(" end"));
      }
      assertEquals(0, follower.waitFor());
      String held = run("HoldLease", url, "jobs/42");
      assertTrue(held.matches("held as \\S+\n"), held);
    }
  }
}
