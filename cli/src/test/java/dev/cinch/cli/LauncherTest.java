package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** The real launcher and the real jar; runs after packaging. */
@Execution(ExecutionMode.CONCURRENT) // they wait for processes of their own
class LauncherTest {
  private static final Path LAUNCHER = Path.of("bin/cinch").toAbsolutePath();

  @TempDir Path temp;

  @BeforeEach
  void othersMayLookInside() throws IOException {
    Files.setPosixFilePermissions(temp, PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  private record Ran(int code, byte[] out, String err) {}

  private Ran run(List<String> command) throws Exception {
    Path out = Files.createTempFile(temp, "out", "");
    Path err = Files.createTempFile(temp, "err", "");
    Process process =
        new ProcessBuilder(command)
            .redirectOutput(out.toFile())
            .redirectError(err.toFile())
            .redirectInput(new java.io.File("/dev/null"))
            .start();
    int code = process.waitFor();
    return new Ran(code, Files.readAllBytes(out), Files.readString(err));
  }

  private Ran cinch(String... args) throws Exception {
    var command = new ArrayList<>(List.of(LAUNCHER.toString()));
    command.addAll(List.of(args));
    return run(command);
  }

  private Ran bash(String script) throws Exception {
    return run(List.of("bash", "-c", script));
  }

  @Test
  void runsFromAnywhereAndThroughLinks() throws Exception {
    Path link = Files.createSymbolicLink(temp.resolve("cinch"), LAUNCHER);
    Ran ran = run(List.of(link.toString(), "--version"));
    Files.delete(link);
    assertEquals(0, ran.code(), ran.err());
    assertEquals(Main.versionLine() + "\n", new String(ran.out(), StandardCharsets.UTF_8));
    assertEquals("", ran.err());
    assertEquals(2, cinch("nonsense").code());
  }

  /** Where somebody speaks another language, errors are recognised all the same. */
  @Test
  void messagesAreNotTranslatedAndNamesKeepTheirEncoding() throws Exception {
    assertEquals(0, cinch("--version").code()); // makes what it makes once
    Path java = Files.createDirectories(temp.resolve("fake/bin")).resolve("java");
    Files.writeString(java, "#!/bin/sh\ncase $* in *--version) echo cinch 1 ;; *) env ;; esac\n");
    Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwxr-xr-x"));
    Ran ran = bash("LC_ALL=C.UTF-8 JAVA_HOME='%s/fake' '%s' version".formatted(temp, LAUNCHER));
    List<String> env = new String(ran.out(), StandardCharsets.UTF_8).lines().toList();
    assertTrue(env.containsAll(List.of("LC_MESSAGES=C", "LC_CTYPE=C.UTF-8")), env.toString());
    assertTrue(env.stream().noneMatch(line -> line.startsWith("LC_ALL=")), env.toString());
  }

  /** Java opens its own files as the descriptors that are closed. */
  @Test
  void descriptorsThatAreClosedAreErrorsAndNotOtherFiles() throws Exception {
    Path store = Cinch.store(temp);
    String append =
        "timeout 60 '%s' append --json --log=jobs --store='%s'".formatted(LAUNCHER, store);
    Ran ran = bash(append + " <&-");
    assertEquals(4, ran.code(), ran.err());
    assertTrue(ran.err().contains("the input could not be read (Bad file descriptor)"), ran.err());
    assertEquals(4, bash(append + " <&- >&- 2>&-").code());
    assertEquals(4, bash("echo a | " + append + " >&-").code());
    assertEquals(0, bash("echo b | " + append + " 2>&-").code());
    assertEquals("a\nb\n", Cinch.on(store).run("cat", "--log=jobs", "--live").ended(0).out());
  }

  /** Cron has no locale; there Java alone could not open such a path. */
  @Test
  void namesThatAreNotAsciiAreFoundWithoutALocale() throws Exception {
    String name = temp + "/gr\\303\\274n"; // as bytes, whatever the locale of this test
    for (String locale : List.of("-u LC_ALL -u LC_CTYPE -u LANG", "LC_ALL=C", "LANG=POSIX")) {
      Ran ran =
          bash(
              "store=$'%s'; env %s '%s' init \"$store\" && rm -r \"$store\""
                  .formatted(name, locale, LAUNCHER));
      assertEquals(0, ran.code(), locale + ": " + ran.err());
      assertEquals("", ran.err(), locale);
    }
  }

  private Path script(String name, String text) throws IOException {
    Files.createDirectories(temp.resolve(name).resolveSibling(""));
    Path file = Files.writeString(temp.resolve(name), "#!/bin/sh\n" + text);
    return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  /**
   * Whatever JAVA_HOME says; wherever it was unpacked the jar has the path that its archive of
   * classes knows.
   */
  @Test
  void aReleaseThatBringsItsJavaRunsThat() throws Exception {
    Path launcher = Files.createDirectories(temp.resolve("own/bin")).resolve("cinch");
    Files.copy(LAUNCHER, launcher);
    Path jar = Files.createDirectories(temp.resolve("own/lib")).resolve("cinch.jar");
    Files.writeString(jar, "the jar");
    Path unused =
        script(
            "own/runtime/bin/java",
            "case $* in *--version) echo cinch 1 ;; *-cp\\ /proc/self/fd/40*) cat /proc/self/fd/40 ;; *) echo path ;; esac\n");
    String start = "JAVA_HOME=/nowhere '%s' version".formatted(launcher);
    assertEquals("the jar", new String(bash(start).out(), StandardCharsets.UTF_8));
    // Somebody else's descriptor stays what it is.
    Ran taken = bash("exec 40</dev/null; " + start);
    assertEquals("path\n", new String(taken.out(), StandardCharsets.UTF_8), taken.err());
  }

  /** Java ends with 1 then, which means damage, and says why on standard output. */
  @Test
  void whatKeepsJavaFromStartingIsNoDamage() throws Exception {
    Path store = Cinch.store(temp);
    String verify = "'%s' verify --store='%s'".formatted(LAUNCHER, store);
    Path unused = script("home/bin/java", "echo no class; exit 1\n");
    for (String how :
        List.of(
            "CINCH_JAVA_OPTS=-XX:+Nonsense",
            "CINCH_JAVA_OPTS=-version",
            "CINCH_JAVA_OPTS='-XX:+UseG1GC -XX:+UseParallelGC'",
            "JAVA_TOOL_OPTIONS=-agentlib:nonsense",
            "JDK_JAVA_OPTIONS=@nonsense",
            "_JAVA_OPTIONS=-Xmx1k",
            "JAVA_HOME='" + temp + "'",
            "JAVA_HOME='" + temp.resolve("home") + "'",
            "ulimit -v 1500000;",
            "mkdir '%1$s/gone'; cd '%1$s/gone'; rmdir '%1$s/gone';".formatted(temp))) {
      Ran ran = bash(how + " " + verify);
      List<String> said = // what bash itself says of a directory that is gone
          ran.err().lines().filter(line -> !line.startsWith("shell-init: ")).toList();
      assertEquals(4, ran.code(), how + ": " + ran.err());
      assertEquals(1, said.size(), how + ": " + ran.err());
      assertTrue(said.get(0).startsWith("cinch: "), how + ": " + ran.err());
      assertEquals(0, ran.out().length, how);
    }
  }

  @Test
  void noCollectorIsChosenWhereTheUserChoseOne() throws Exception {
    Path store = Cinch.store(temp);
    for (String variable : List.of("CINCH_JAVA_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")) {
      Ran ran =
          bash("%s=-XX:+UseG1GC '%s' verify --store='%s'".formatted(variable, LAUNCHER, store));
      assertEquals(0, ran.code(), ran.err());
      assertTrue(new String(ran.out(), StandardCharsets.UTF_8).startsWith("intact: "));
    }
  }

  /** Of any kind, on any thread: here classes that are not there. */
  @Test
  void errorsOfJavaAreNoDamage() throws Exception {
    Path half = Files.createDirectories(temp.resolve("half"));
    Ran ran =
        bash(
            "cd '%s' && jar xf '%s' dev && java -cp . dev.cinch.cli.Main verify --store=/nowhere"
                .formatted(half, Path.of("target/cinch.jar").toAbsolutePath()));
    assertEquals(4, ran.code(), ran.err());
    assertEquals(1, ran.err().lines().count(), ran.err());
    assertTrue(ran.err().contains("NoClassDefFoundError"), ran.err());
    assertEquals(0, ran.out().length);
  }

  /** One name would be taken for another. */
  @Test
  void argumentsThatAreNoTextAreRefusedAndLocalesThatAreNotInstalledAreUtf8() throws Exception {
    Ran ran = bash("'%s' cat --log=$'caf\\xe9' --store=/nowhere".formatted(LAUNCHER));
    assertEquals(2, ran.code(), ran.err());
    assertTrue(ran.err().contains("no text in this locale"), ran.err());
    for (String locale : List.of("LC_ALL=no_NO.UTF-8", "LANG=no_NO", "LC_TIME=no_NO")) {
      ran =
          bash(
              "env -u LC_ALL %s '%s' cat --log=Zo\u00eb --store=/nowhere 2>&1 | grep -v setlocale"
                  .formatted(locale, LAUNCHER));
      String said = new String(ran.out(), StandardCharsets.UTF_8);
      assertTrue(said.contains("not a log name: \"Zo\u00eb\""), locale + ": " + said);
    }
  }

  /** Others may share the checkout, and could not read what only the group may. */
  @Test
  void whatItBuildsHasTheModeThatItsUserWants() throws Exception {
    Path bin = Files.createDirectories(temp.resolve("checkout/cli/bin"));
    Path launcher = Files.copy(LAUNCHER, bin.resolve("cinch"));
    Files.createDirectories(temp.resolve("bin"));
    Path unused = script("bin/mvn", ": >cli/target/cinch.jar\n");
    unused = script("bin/java", "case $* in *--version) echo cinch 1 ;; *) umask ;; esac\n");
    Ran ran =
        bash(
            "umask 022; JAVA_HOME='%s' PATH='%s/bin':\"$PATH\" '%s' version"
                .formatted(temp, temp, launcher));
    assertEquals(0, ran.code(), ran.err());
    assertEquals("0007\n", new String(ran.out(), StandardCharsets.UTF_8));
    Path copies = temp.resolve("checkout/cli/.run");
    String key = Files.readString(copies.resolve("current")).strip();
    for (var place :
        java.util.Map.of(copies, "rwxr-xr-x", copies.resolve(key).resolve("cinch.jar"), "rw-r--r--")
            .entrySet()) {
      assertEquals(
          place.getValue(),
          PosixFilePermissions.toString(Files.getPosixFilePermissions(place.getKey())));
    }
  }

  /** A copy of this checkout's launcher and of what was built. */
  private Path checkout() throws IOException {
    Path bin = Files.createDirectories(temp.resolve("checkout/cli/bin"));
    Files.copy(Path.of("target/cinch.jar"), built());
    return Files.copy(LAUNCHER, bin.resolve("cinch"));
  }

  private Path built() throws IOException {
    return Files.createDirectories(temp.resolve("checkout/cli/target")).resolve("cinch.jar");
  }

  /** As {@code mvn clean} and the next build do it; classes and resources are still loaded then. */
  @Test
  void whatRunsGoesOnWhenMavenRemovesOrReplacesWhatItBuilt() throws Exception {
    Path launcher = checkout();
    Path store = Cinch.store(temp);
    Process server =
        new ProcessBuilder(
                launcher.toString(),
                "serve",
                "--port=0",
                "--key=" + temp.resolve("key"),
                "--store=" + store)
            .redirectError(temp.resolve("err").toFile())
            .start();
    try (BufferedReader out = server.inputReader(StandardCharsets.UTF_8)) {
      String line = String.valueOf(out.readLine());
      Files.delete(built());
      assertEquals(0, run(List.of(launcher.toString(), "version")).code());
      Files.writeString(built(), "half a jar"); // of a build that is at work
      Files.setLastModifiedTime(
          built(), java.nio.file.attribute.FileTime.from(java.time.Instant.now().plusSeconds(9)));
      assertEquals(0, run(List.of(launcher.toString(), "version")).code());
      String uri = line.substring("listening on ".length());
      new Cinch().with("CINCH_SERVER", uri).run("lease", "acquire", "jobs/1").ended(0);
      Ran appended =
          bash(
              "echo a | '%s' append --store='%s' --log=jobs --lease=jobs/2 --server=%s"
                  .formatted(launcher, store, uri));
      assertEquals(0, appended.code(), appended.err());
    } finally {
      server.destroy(); // SIGTERM
    }
    assertEquals(0, server.waitFor());
    assertEquals("", Files.readString(temp.resolve("err")));
  }

  /** It has a number by then, and the server before it has stopped for good. */
  @Test
  void aServerWhoseAddressNobodyCanReadServesAllTheSame() throws Exception {
    Path store = Cinch.store(temp);
    Process server =
        new ProcessBuilder(
                LAUNCHER.toString(),
                "serve",
                "--port=0",
                "--key=" + temp.resolve("key"),
                "--store=" + store)
            .redirectOutput(new java.io.File("/dev/full"))
            .start();
    try (BufferedReader err = server.errorReader(StandardCharsets.UTF_8)) {
      String line = String.valueOf(err.readLine());
      assertTrue(line.contains("listening on http://127.0.0.1:"), line);
      String uri = line.replaceAll(".*(http://[0-9.:]+).*", "$1");
      new Cinch().with("CINCH_SERVER", uri).run("lease", "list").ended(0);
    } finally {
      server.destroy(); // SIGTERM
    }
    assertEquals(0, server.waitFor());
  }

  @Test
  void pipesKeepEveryByteAndEndQuietlyWhenTheReaderLeaves() throws Exception {
    Path store = Cinch.store(temp);
    Cinch.on(store).run("log", "create", "jobs").ended(0);
    Path input = temp.resolve("input");
    byte[] bytes = "a\0b\n\nlast\n".repeat(100_000).getBytes(StandardCharsets.UTF_8);
    Files.write(input, bytes);
    String cinch = "CINCH_STORE='" + store + "' '" + LAUNCHER + "' ";
    Ran both =
        bash(
            "set -o pipefail; cat '%s' | %s append --log=jobs --durability=close && %s cat --log=jobs --live | cat"
                .formatted(input, cinch, cinch));
    assertEquals(0, both.code(), both.err());
    assertArrayEquals(bytes, both.out());
    assertEquals("", both.err());
    Ran head = bash("set -o pipefail; %s cat --log=jobs --live | head -n 1".formatted(cinch));
    assertEquals(0, head.code());
    assertEquals("", head.err());
    assertArrayEquals("a\0b\n".getBytes(StandardCharsets.UTF_8), head.out());
    Ran unread =
        bash(
            "yes | (%s append --log=other --durability=close --json; echo ended $? >&2) | head -n 1"
                .formatted(cinch));
    assertTrue(unread.err().contains("nobody reads the receipts"), unread.err());
    assertTrue(unread.err().contains("ended 4"), unread.err()); // not 0: input was left
    Ran full = bash(cinch + "cat --log=jobs --live > /dev/full");
    assertEquals(4, full.code());
    assertEquals(1, full.err().lines().count(), full.err());
  }

  @Test
  void aSummaryOnATerminalAndNoneInAPipe() throws Exception {
    Path store = Cinch.store(temp);
    Cinch.on(store).run("log", "create", "jobs").ended(0);
    String append = "echo a | %s append --log=jobs --store=%s".formatted(LAUNCHER, store);
    assertEquals("", bash(append).err());
    assumeTrue(bash("command -v script").code() == 0, "no script(1) to play a terminal");
    Ran ran = run(List.of("script", "-qec", append, "/dev/null"));
    String shown = new String(ran.out(), StandardCharsets.UTF_8);
    assertTrue(shown.contains("1 message committed"), shown);
  }

  @Test
  void whoeverWaitsForTheFirstStartAtATerminalIsTold() throws Exception {
    assumeTrue(bash("command -v script").code() == 0, "no script(1) to play a terminal");
    Path launcher = Files.createDirectories(temp.resolve("first/bin")).resolve("cinch");
    Files.copy(LAUNCHER, launcher);
    Path lib = Files.createDirectories(temp.resolve("first/lib"));
    Files.writeString(lib.resolve("cinch.jar"), "the jar");
    Path teller = temp.resolve("teller");
    Path unused = script("bin/sleep", "echo $PPID > %s.new; mv %1$s.new %1$s%n".formatted(teller));
    // The archive takes as long as the line that tells of it.
    String told = "while [ ! -e %s ] || kill -0 $(cat %1$s) 2>/dev/null; do :; done";
    unused =
        script(
            "home/bin/java",
            "case $* in *--version) echo cinch 1 ;; *Warmup*) %s ;; *) echo ran ;; esac\n"
                .formatted(told.formatted(teller)));
    String start =
        "PATH=%s:$PATH JAVA_HOME=%s %s logs"
            .formatted(temp.resolve("bin"), temp.resolve("home"), launcher);
    String line = "cinch: preparing faster starts, once (this takes some seconds)";
    List<String> terminal = List.of("script", "-qec", start, "/dev/null");
    assertEquals(line + "\r\nran\r\n", new String(run(terminal).out(), StandardCharsets.UTF_8));
    assertEquals("ran\r\n", new String(run(terminal).out(), StandardCharsets.UTF_8));
    for (Path file : Files.list(lib).filter(f -> f.toString().endsWith(".jsa")).toList()) {
      Files.delete(file);
    }
    assertEquals("", bash(start).err());
  }

  @Test
  void aUserWithoutPermissionIsToldSo() throws Exception {
    Path store = Cinch.store(temp, "--file-mode=0644", "--directory-mode=0755");
    assertEquals(
        0, bash("echo a | '%s' append --store='%s' --log=jobs".formatted(LAUNCHER, store)).code());
    boolean root = "root".equals(System.getProperty("user.name"));
    assumeTrue(root, "only root can become another user; RefusalsTest covers the rest");
    List<String> nobody =
        List.of("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", LAUNCHER.toString());
    var version = new ArrayList<>(nobody);
    version.add("--version");
    assumeTrue(run(version).code() == 0, "user 65534 can't read this checkout");
    var append = new ArrayList<>(nobody);
    append.addAll(List.of("append", "--log=jobs", "--store=" + store));
    Ran refused = run(append);
    assertEquals(4, refused.code(), refused.err());
    assertEquals(1, refused.err().lines().count(), refused.err());
    assertTrue(refused.err().contains("permission denied"), refused.err());
    var doctor = new ArrayList<>(nobody);
    doctor.addAll(List.of("doctor", "--store=" + store));
    Ran ill = run(doctor);
    assertEquals(1, ill.code(), ill.err());
    assertTrue(new String(ill.out(), StandardCharsets.UTF_8).contains("FAIL not writable: "));
  }

  @Test
  void servesUntilToldToStopAndRemembersItsNumberInTheStore() throws Exception {
    Path store = Cinch.store(temp);
    Path key = temp.resolve("key");
    for (int instance = 1; instance <= 2; instance++) {
      Process server =
          new ProcessBuilder(
                  LAUNCHER.toString(),
                  "serve",
                  "--port=0",
                  "--longest-lease=60s",
                  "--key=" + key,
                  "--store=" + store)
              .redirectError(temp.resolve("err").toFile())
              .start();
      try (BufferedReader out = server.inputReader(StandardCharsets.UTF_8)) {
        String line = String.valueOf(out.readLine());
        assertTrue(line.matches("listening on http://127\\.0\\.0\\.1:\\d+"), line);
        Cinch cinch = new Cinch().with("CINCH_SERVER", line.substring("listening on ".length()));
        if (instance == 1) {
          cinch.run("lease", "acquire", "--for=60s", "jobs/1").ended(0);
        } else {
          cinch.run("lease", "acquire", "--for=60s", "jobs/1").failed(3, "is held by ");
        }
        cinch.run("lease", "list").ended(0);
      } finally {
        server.destroy(); // SIGTERM
      }
      assertEquals(0, server.waitFor());
    }
    try (var instances = Files.list(store.resolve("service/instances"))) {
      assertEquals(2, instances.filter(n -> n.toString().matches(".*/[0-9]{10}")).count());
    }
    assertEquals("", Files.readString(temp.resolve("err")));
  }
}
