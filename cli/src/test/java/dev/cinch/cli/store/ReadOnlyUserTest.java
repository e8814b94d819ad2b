package dev.cinch.cli.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.cinch.cli.Cinch;
import dev.cinch.cli.OtherUser;
import dev.cinch.cli.Served;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A user who may read a store and create nothing in it. A superuser may do everything, so when run
 * as root the checks run in a JVM of another user.
 */
@Timeout(600)
class ReadOnlyUserTest {
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
        if (OtherUser.isRoot(temp)) {
          OtherUser.run(ReadOnlyUserTest.class, temp, args);
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
        "one\n",
        cinch.run("cat", "--log=jobs", "--follow", "--from=0", "--to", settled).ended(0).out());
    assertTrue(cinch.run("verify").ended(0).out().startsWith("intact: "));
    assertEquals("jobs\n", cinch.run("logs").ended(0).out());
    Cinch.Ran status = cinch.run("status").ended(0);
    assertTrue(status.out().startsWith("nothing needs attention\n"), status.out());
    assertEquals("three\n", cinch.run("cat", "--log=jobs", "--live", "--tail=1").ended(0).out());
    assertTrue(cinch.run("audit").ended(0).out().startsWith("exclusive: 2 messages"));
    cinch.run("lease", "list").ended(0);
    cinch.run("lease", "show", "x").ended(0);
    String grant = cinch.run("lease", "acquire", "--for=1s", "y").ended(0).out();
    assertEquals(
        1,
        new ObjectMapper()
            .readTree(grant)
            .get("witnesses")
            .get(0)
            .get("witness")
            .get("logs")
            .size());
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
    cinch
        .run("log", "create", "new")
        .failed(4, store + "/logs: permission denied: this user may not make files there; ");
    assertEquals("one\ntwo\nthree\n", cinch.run("cat", "--log=jobs", "--live").ended(0).out());
    System.out.println(OtherUser.DONE);
  }
}
