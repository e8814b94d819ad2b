package dev.cinch.cli.doctor;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.cinch.cli.Cinch;
import dev.cinch.cli.OtherUser;
import java.io.IOException;
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
 * What one user can't do in a store though it may enter all of it. A superuser may do everything,
 * so when run as root the checks run in a JVM of another user.
 */
@Timeout(600)
class DoctorOfAnotherUserTest {
  private static final String ALL = "rwxrwxrwx";
  private static final String READ_ONLY = "r-xr-xr-x";

  /** What is read-only in the store of that name, below its directory. */
  private static final List<String> CASES = List.of("whole", "logs", "instances", "keys", "barred");

  @Test
  void isToldWhatItMayNot(@TempDir Path temp) throws Exception {
    mode(temp, ALL);
    for (String name : CASES) {
      Path store = Cinch.quickStore(Files.createDirectory(temp.resolve(name)));
      Cinch cinch = Cinch.on(store);
      cinch.feed("a\n", "append", "--log=jobs").ended(0);
      try (Stream<Path> all = Files.walk(temp.resolve(name))) {
        for (Path path : all.toList()) {
          mode(path, ALL);
        }
      }
      mode(restricted(store, name), name.equals("whole") ? ALL : mode(name));
    }
    try {
      if (OtherUser.isRoot(temp)) {
        OtherUser.run(DoctorOfAnotherUserTest.class, temp, temp.toString());
      } else {
        main(new String[] {temp.toString()});
      }
    } finally {
      for (String name : CASES) {
        mode(temp.resolve(name), ALL);
        mode(restricted(temp.resolve(name).resolve("store"), name), ALL);
      }
    }
  }

  private static void mode(Path path, String mode) throws IOException {
    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(mode));
  }

  private static String mode(String name) {
    return name.equals("barred") ? "---------" : READ_ONLY;
  }

  @SuppressWarnings("NullAway") // a path below another has one above
  private static Path restricted(Path store, String name) {
    return switch (name) {
      case "logs" -> store.resolve("logs");
      case "instances" -> store.resolve("service/instances");
      case "keys" -> store.resolve("keys");
      case "barred" -> store.getParent();
      default -> store;
    };
  }

  /**
   * The checks, as an ordinary user.
   *
   * @param args where the stores are
   */
  public static void main(String[] args) throws IOException {
    Path temp = Path.of(args[0]);
    var wrong = new ArrayList<String>();
    for (String name : CASES) {
      Path store = temp.resolve(name).resolve("store");
      Cinch.Ran ran = Cinch.on(store).run("doctor");
      String path = name.equals("barred") ? "" : restricted(store, name).toString();
      int code = 1;
      String expected = "FAIL not writable: " + path + " — this user can't append or close";
      switch (name) {
        case "barred" -> {
          ran.failed(4, store + ": permission denied");
          continue;
        }
        case "instances" -> {
          code = 0;
          expected = "warn not writable: " + path + " — this user can't run the lease server";
        }
        case "keys" -> {
          code = 0;
          expected = "warn not writable: " + path + " — this user can't run the lease server";
          Cinch.on(store).run("close").ended(0);
        }
        case "whole" -> {
          code = 0;
          expected = "ok   2 directories writable";
        }
        default -> {}
      }
      long fails = ran.out().lines().filter(l -> l.startsWith("FAIL")).count();
      if (ran.code() != code || fails != code || !ran.out().contains(expected)) {
        wrong.add(name + ": " + expected + " in " + ran.out());
      }
    }
    assertTrue(wrong.isEmpty(), wrong.toString());
    System.out.println(OtherUser.DONE);
  }
}
