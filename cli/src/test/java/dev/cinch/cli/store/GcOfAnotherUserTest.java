package dev.cinch.cli.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.cinch.cli.Cinch;
import dev.cinch.cli.OtherUser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What belongs to another group is its owner's: {@code gc} by somebody else names whom to ask. */
@Timeout(600)
class GcOfAnotherUserTest {
  @Test
  void retiresWhatItMayAndNamesTheOwnerOfTheRest(@TempDir Path temp) throws Exception {
    assumeTrue(OtherUser.isRoot(temp), "not run as root: there is no other user");
    Files.setPosixFilePermissions(temp, PosixFilePermissions.fromString("rwxrwxrwx"));
    Path store = Cinch.quickStore(temp);
    Cinch cinch = Cinch.on(store);
    for (String log : List.of("first", "second")) {
      cinch.settled(log, log + "\n");
    }
    cinch.run("view", "build", "--wait=0s").ended(0);
    try (Stream<Path> all = Files.walk(store)) {
      for (Path path : all.filter(GcOfAnotherUserTest::isOpen).toList()) {
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwxrwxrwx"));
      }
    }
    OtherUser.run(GcOfAnotherUserTest.class, temp, store.toString());
    assertTrue(cinch.run("gc", "--retention=0s").ended(0).out().contains("1 buckets"));
    assertEquals("first\n", cinch.run("cat", "--log=first").ended(0).out());
    assertEquals("second\n", cinch.run("cat", "--log=second").ended(0).out());
  }

  /** Directories that nobody closed. */
  private static boolean isOpen(Path path) {
    return Files.isDirectory(path) && !Files.exists(path.resolve("lock"));
  }

  /**
   * The checks, as somebody to whom nothing belongs.
   *
   * @param args a store with two logs, each with a bucket that is due
   */
  public static void main(String[] args) throws IOException {
    Path store = Path.of(args[0]);
    Cinch cinch = Cinch.on(store);
    Cinch.Ran ran = cinch.run("gc", "--retention=0s").ended(4);
    List<String> lines = ran.err().lines().toList();
    assertEquals(2, lines.size(), ran.err()); // one for each log, and the first kept nothing back
    for (String line : lines) {
      assertTrue(line.startsWith("cinch gc: " + store + "/logs/"), line);
      assertTrue(line.contains("cannot retire what is in it"), line);
      assertTrue(line.contains("; it is root's, of group "), line);
      assertTrue(line.endsWith(": run gc as root"), line);
    }
    assertEquals("first\n", cinch.run("cat", "--log=first").ended(0).out());
    assertEquals("second\n", cinch.run("cat", "--log=second").ended(0).out());
    System.out.println(OtherUser.DONE);
  }
}
