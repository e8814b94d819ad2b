package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Runs checks in a JVM of another user, as root can: a superuser may do everything, so that modes
 * mean nothing to it.
 */
public final class OtherUser {
  private static final String UID = "65534";

  /** What a class of checks prints at its end: one that did nothing is not taken for a success. */
  public static final String DONE = "all checked";

  private OtherUser() {}

  /** Whether this process is a superuser's. */
  public static boolean isRoot(Path own) throws IOException {
    return Integer.valueOf(0).equals(Files.getAttribute(own, "unix:uid"));
  }

  /**
   * Runs the main method of a class as the other user; a test without {@code setpriv} is skipped.
   *
   * @param temp a directory of the test's that everyone may enter
   */
  public static void run(Class<?> checks, Path temp, String... args) throws Exception {
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
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                readableClassPath(temp.resolve("classes")),
                checks.getName()));
    command.addAll(List.of(args));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), output);
    assertTrue(output.contains(DONE), output);
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
}
