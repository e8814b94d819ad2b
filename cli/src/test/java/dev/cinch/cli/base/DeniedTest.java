package dev.cinch.cli.base;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What people read who may not do something. */
class DeniedTest {
  @TempDir Path temp;

  private static Failure failure(Path file) {
    return Failure.of(new AccessDeniedException(file.toString()));
  }

  @Test
  void theDirectoryAndItsGroupAreNamedAndNoTemporaryFile() throws Exception {
    PosixFileAttributes a = Files.readAttributes(temp, PosixFileAttributes.class);
    Path file = temp.resolve("tmp-1234");
    Files.setPosixFilePermissions(temp, PosixFilePermissions.fromString("rwxrwxr-x"));
    assertEquals(
        new Failure(
            ExitCode.UNAVAILABLE,
            temp
                + ": permission denied: this user may not make files there; group "
                + a.group().getName()
                + " may: be added to it and log in anew"),
        failure(file));
    Files.setPosixFilePermissions(temp, PosixFilePermissions.fromString("rwxr-xr-x"));
    assertEquals(
        temp
            + ": permission denied: this user may not make files there; it is %s's, of group %s and mode rwxr-xr-x"
                .formatted(a.owner().getName(), a.group().getName()),
        failure(file).line());
    assertEquals(
        temp.resolve("gone") + ": permission denied: this user may not make files there",
        failure(temp.resolve("gone/tmp-1")).line());
  }

  @Test
  void otherFilesAreNamedThemselvesAndWhoseTheyAre() throws Exception {
    assertEquals(temp + "/a.log: permission denied", failure(temp.resolve("a.log")).line());
    Path file = Files.writeString(temp.resolve("a.log"), "");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r-----"));
    PosixFileAttributes a = Files.readAttributes(file, PosixFileAttributes.class);
    assertEquals(
        file
            + ": permission denied; it is %s's, of group %s and mode rw-r-----"
                .formatted(a.owner().getName(), a.group().getName()),
        failure(file).line());
  }
}
