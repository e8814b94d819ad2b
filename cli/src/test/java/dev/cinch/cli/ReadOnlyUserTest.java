package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A user who may read a store and create nothing in it. A superuser may do everything, so when run
 * as root the checks run in a JVM of another user.
 */
@Timeout(300)
class ReadOnlyUserTest {
  private static final String UID = "65534";

  @Test
  void readsEverythingAndIsToldWhatItMayNot(@TempDir Path temp) throws Exception {
    Files.setPosixFilePermissions(temp, PosixFilePermissions.fromString("rwxrwxrwx"));
    try (var served = new Served(temp)) {
      Cinch cinch = served.cinch;
      cinch.feed("one\n", "append", "--log=jobs", "--lease=x").ended(0);
      cinch.settle("jobs");
      cinch.run("view", "build", "--wait=0s").ended(0);
      cinch.appendBehind("two\n", "append", "--log=jobs");
      cinch.settle("jobs");
      cinch.appendBehind("three\n", "append", "--log=jobs");
      String[] args = {served.store.toString(), served.uri()};
      writable(served.store, false);
      try {
        if (Integer.valueOf(0).equals(Files.getAttribute(temp, "unix:uid"))) {
          fork(temp, args);
        } else {
          main(args);
        }
      } finally {
        writable(served.store, true);
      }
      cinch.settle("jobs"); // nothing of the reader's stands in anybody's way
      assertEquals("one\ntwo\nthree\n", cinch.run("cat", "--log=jobs").ended(0).out());
    }
  }

  private static void writable(Path store, boolean on) throws IOException {
    try (Stream<Path> all = Files.walk(store)) {
      for (Path path : all.toList()) {
        Files.setPosixFilePermissions(
            path,
            PosixFilePermissions.fromString(
                on ? "rwxr-xr-x" : Files.isDirectory(path) ? "r-xr-xr-x" : "r--r--r--"));
      }
    }
  }

  private static void fork(Path temp, String[] args) throws Exception {
    Path setpriv = Path.of("/usr/bin/setpriv");
    assumeTrue(Files.isExecutable(setpriv), "run as root without setpriv: modes are not tested");
    var command =
        new ArrayList<>(
            List.of(
                setpriv.toString(),
                "--reuid=" + UID,
                "--regid=" + UID,
                "--clear-groups",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx128m",
                "-cp",
                readableClassPath(temp.resolve("classes")),
                ReadOnlyUserTest.class.getName()));
    command.addAll(List.of(args));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), output);
    assertTrue(output.contains("all checked"), output);
  }

  /** A copy: the other user may not be able to read where the classes are. */
  private static String readableClassPath(Path to) throws IOException {
    Files.createDirectory(to);
    var entries = new ArrayList<String>();
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
      Path from = Path.of(entry);
      if (!entry.isEmpty() && Files.exists(from)) {
        Path copy = to.resolve(entries.size() + "-" + from.getFileName());
        try (Stream<Path> all = Files.walk(from)) {
          for (Path p : all.toList()) {
            Files.copy(p, copy.resolve(from.relativize(p).toString()));
          }
        }
        entries.add(copy.toString());
      }
    }
    return String.join(File.pathSeparator, entries);
  }

  /**
   * The checks, as an ordinary user.
   *
   * @param args a store that the user may only read, and a lease service
   */
  public static void main(String[] args) throws Exception {
    Path store = Path.of(args[0]);
    Cinch cinch = Cinch.on(store).with("CINCH_SERVER", args[1]);
    assertEquals("one\ntwo\n", cinch.run("cat", "--log=jobs").ended(0).out());
    assertEquals("one\ntwo\nthree\n", cinch.run("cat", "--log=jobs", "--live").ended(0).out());
    assertEquals("one\ntwo\n", cinch.run("view", "cat", "--log=jobs").ended(0).out());
    String settled =
        new ObjectMapper()
            .readTree(cinch.run("cat", "--log=jobs", "--format=json").out().lines().toList().get(1))
            .get("timestamp")
            .asText();
    assertEquals(
        "one\n", cinch.run("cat", "--log=jobs", "--follow", "--to", settled).ended(0).out());
    assertTrue(cinch.run("verify").ended(0).out().startsWith("intact: "));
    assertTrue(cinch.run("audit").ended(0).out().startsWith("exclusive: 2 messages"));
    cinch.run("lease", "list").ended(0);
    cinch.run("lease", "show", "x").ended(0);
    String grant = cinch.run("lease", "acquire", "--for=1s", "y").ended(0).out();
    assertEquals(1, new ObjectMapper().readTree(grant).get("witnesses").get(0).get("logs").size());
    for (String[] command :
        List.of(
            new String[] {"append", "--log=jobs"},
            new String[] {"append", "--log=new"},
            new String[] {"append", "--log=jobs", "--lease=z"},
            new String[] {"close"},
            new String[] {"close", "--log=jobs"},
            new String[] {"view", "build", "--wait=0s"},
            new String[] {"gc", "--retention=1d"})) {
      cinch.feed("never\n", command).failed(4, store + "/");
      cinch.feed("never\n", command).failed(4, "permission denied");
    }
    assertEquals("one\ntwo\nthree\n", cinch.run("cat", "--log=jobs", "--live").ended(0).out());
    System.out.println("all checked");
  }
}
