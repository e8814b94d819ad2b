package dev.cinch.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a member of the group can do to the lease service with files. */
@Timeout(600) // a server that starts all the same does not end
class ServiceFilesTest {
  @TempDir Path temp;

  private static String signed(Path directory, String number) throws Exception {
    try (Stream<Path> all = Files.list(directory)) {
      return all.map(p -> String.valueOf(p.getFileName()))
          .filter(n -> n.startsWith(number + "."))
          .findAny()
          .orElseThrow();
    }
  }

  @Test
  void whatNoKeySignedStopsNoServer() throws Exception {
    Path store = Cinch.store(temp);
    Path instances = store.resolve("service/instances");
    try (Forked server = Forked.serve(temp, store)) {
      Cinch cinch = Cinch.on(store).with("CINCH_SERVER", server.listening());
      cinch.run("lease", "acquire", "--for=1s", "a").ended(0);
      cinch.run("status").ended(0);
      String copied = signed(instances, "0000000001").substring(11);
      Files.createFile(instances.resolve("0000000002"));
      Files.createFile(instances.resolve("0000000003." + copied));
      Files.createDirectory(instances.resolve("0000000004"));
      Files.createSymbolicLink(instances.resolve("0000000005"), temp.resolve("nowhere"));
      Files.createFile(instances.resolve("9999999999"));
      Files.createFile(instances.resolve("map-0000000001"));
      Files.createFile(instances.resolve("0000000001-0000000001-0002"));
      Files.createFile(store.resolve("service/ceilings/0000000001-" + Long.MAX_VALUE));
      // Above the ceiling that it has published, so that it looks for later instances.
      cinch.run("lease", "acquire", "--for=10s", "b").ended(0);
      Cinch.Ran status = cinch.run("status").ended(3);
      assertTrue(status.out().contains("and 7 more: no key of the store signed it"), status.out());
      assertTrue(status.out().contains("grants"), status.out());
      String verified = cinch.run("verify").ended(0).out();
      assertTrue(verified.contains("8 notes"), verified);
    }
    Cinch.Ran status = Cinch.on(store).run("status").ended(3);
    assertTrue(status.out().contains("the lease server at http"), status.out());
    try (Forked second = Forked.serveHere(temp, store)) {
      assertTrue(second.listening().startsWith("http://"));
      String wait = second.line();
      assertTrue(wait.matches(".* grants again in \\d+ s, at .*"), wait);
      // A stray copy of a signature is no number's; one without a signature is passed over.
      assertTrue(Files.exists(instances.resolve("0000000003")));
    }
  }

  @Test
  void shardMapsWantTheStoresKey() throws Exception {
    Path store = Cinch.store(temp, "--key=" + temp.resolve("cinch.key"));
    Cinch cinch = Cinch.on(store);
    String none = "--key=" + temp.resolve("none.key");
    cinch.run("shards", "set", "2", none).failed(3, "the store's key signed");
    assertFalse(Files.exists(temp.resolve("none.key")));
    new Cinch().run("keygen", "--key=" + temp.resolve("other.key")).ended(0);
    String other = "--key=" + temp.resolve("other.key");
    cinch.run("shards", "set", "2", other).failed(3, "trusts another key");
    cinch.run("shards", "set", "2", "--key=" + temp.resolve("cinch.key")).ended(0);
  }

  @Test
  void whatTheServerWritesIsItsOwnersAlone() throws Exception {
    Files.setPosixFilePermissions(temp, PosixFilePermissions.fromString("rwxrwxrwx"));
    String own = System.getProperty("user.name");
    String key = "--key=" + temp.resolve("cinch.key");
    Path store = Cinch.store(temp, "--owner=" + own, key, "--directory-mode=02777");
    List<String> closed =
        List.of(
            "",
            "keys",
            "service",
            "service/instances",
            "service/ceilings",
            "service/ends",
            "service/revocations");
    for (String place : closed) {
      String mode =
          PosixFilePermissions.toString(Files.getPosixFilePermissions(store.resolve(place)));
      assertEquals("rwxr-xr-x", mode, place);
    }
    Cinch cinch = Cinch.on(store);
    cinch.feed("a\n", "append", "--log=jobs").ended(0);
    Cinch.store(Files.createDirectory(temp.resolve("x")), "--owner=" + own).toFile();
    new Cinch()
        .run("init", "--owner=no-such-user", temp.resolve("y").toString())
        .failed(3, "--owner no-such-user: no such user");
    assertFalse(Files.exists(temp.resolve("y")));
    if (OtherUser.isRoot(temp)) {
      try (Stream<Path> all = Files.walk(store.resolve("logs"))) {
        for (Path each : all.toList()) {
          Files.setPosixFilePermissions(each, PosixFilePermissions.fromString("rwxrwxrwx"));
        }
      }
      OtherUser.run(ServiceFilesTest.class, temp, store.toString());
    }
  }

  /**
   * As a member who does not run the server.
   *
   * @param args where the store is
   */
  public static void main(String[] args) throws Exception {
    Path store = Path.of(args[0]);
    var made = new ArrayList<String>();
    for (String name : List.of("service/instances/0000000002", "keys/0000000002", "service/x")) {
      try {
        Files.createFile(store.resolve(name));
        made.add(name);
      } catch (AccessDeniedException e) {
        // So it is to be.
      }
    }
    assertEquals(List.of(), made);
    Cinch cinch = Cinch.on(store);
    cinch.feed("b\n", "append", "--log=jobs").ended(0);
    cinch.run("close").ended(0);
    cinch.run("doctor").ended(0);
    cinch.run("status").ended(0);
    cinch.run("serve", "--port=0", "--key=" + store.resolveSibling("own.key")).failed(3, "no such");
    System.out.println(OtherUser.DONE);
  }
}
