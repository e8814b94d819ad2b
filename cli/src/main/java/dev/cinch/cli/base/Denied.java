package dev.cinch.cli.base;

import dev.cinch.bag.model.Names;
import dev.cinch.bag.storage.InWords;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;

/** Where this user may not do something, and whoever may: of a directory, not of a file in it. */
final class Denied {
  private Denied() {}

  /** One line. A temporary file that can't be made says nothing; its directory does. */
  static String line(AccessDeniedException e) {
    if (e.getFile() == null) {
      return InWords.line(e);
    }
    Path file = Path.of(e.getFile());
    Path name = file.getFileName();
    Path directory = file.getParent();
    if (name == null
        || directory == null
        || !Names.isTemporary(name.toString()) && !isToBeMade(file, directory)) {
      return InWords.line(e);
    }
    return directory
        + ": permission denied: this user may not make files there"
        + whoMay(directory);
  }

  /** Was it denied to make it? Else the file itself denies something. */
  private static boolean isToBeMade(Path file, Path directory) {
    return Files.notExists(file, LinkOption.NOFOLLOW_LINKS) && !Files.isWritable(directory);
  }

  private static String whoMay(Path directory) {
    PosixFileAttributes a;
    try {
      a = Files.readAttributes(directory, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    } catch (IOException | UnsupportedOperationException e) {
      return "";
    }
    if (a.permissions().contains(PosixFilePermission.GROUP_WRITE)) {
      return "; group %s may: be added to it and log in anew, or see cinch doctor"
          .formatted(a.group().getName());
    }
    return "; it is %s's, of group %s and mode %s: see cinch doctor"
        .formatted(
            a.owner().getName(),
            a.group().getName(),
            PosixFilePermissions.toString(a.permissions()));
  }
}
