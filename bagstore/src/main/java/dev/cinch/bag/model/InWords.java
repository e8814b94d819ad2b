package dev.cinch.bag.model;

import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.attribute.UserPrincipalNotFoundException;
import java.util.Set;

/** Says what an error of the storage means, for a line to the user: no names of classes. */
public final class InWords {
  /** How the JDK words ENOSPC, of bytes and of inodes, and EDQUOT. */
  private static final Set<String> FULL = Set.of("No space left on device", "Disk quota exceeded");

  /** EROFS. */
  private static final String READ_ONLY = "Read-only file system";

  private InWords() {}

  /**
   * Whether the storage has no room for what was to be made or written, so that the same may do
   * later. Every part of Cinch that waits for room asks here.
   */
  public static boolean isFull(Throwable e) {
    return says(e, FULL);
  }

  /** Whether the storage takes no changes, however much room it has. */
  public static boolean isReadOnly(Throwable e) {
    return says(e, Set.of(READ_ONLY));
  }

  private static boolean says(Throwable e, Set<String> reasons) {
    for (Throwable t = e; t != null; t = t.getCause()) {
      String reason = t instanceof FileSystemException f ? f.getReason() : t.getMessage();
      if (t instanceof IOException && reason != null && reasons.contains(reason)) {
        return true;
      }
    }
    return false;
  }

  /** Where it happened, if the error says, and what. */
  public static String line(IOException e) {
    if (e instanceof FileSystemException f && f.getFile() != null) {
      return f.getFile() + ": " + reason(e);
    }
    return reason(e);
  }

  /** What happened, of errors of {@code java.nio.file} without the path. */
  public static String reason(IOException e) {
    if (e instanceof NoSuchFileException) {
      return "no such file or directory";
    }
    if (e instanceof AccessDeniedException denied) {
      boolean ofStorage = denied.getFile() == null && denied.getReason() != null;
      return ofStorage ? denied.getReason() : "permission denied";
    }
    if (e instanceof FileAlreadyExistsException) {
      return "exists already";
    }
    if (e instanceof NotDirectoryException) {
      return "not a directory";
    }
    if (e instanceof DirectoryNotEmptyException) {
      return "directory not empty";
    }
    if (e instanceof UserPrincipalNotFoundException u) {
      return "there is no user or group \"" + u.getName() + "\"";
    }
    if (e instanceof ClosedByInterruptException) {
      return "interrupted";
    }
    if (e instanceof ClosedChannelException) {
      return "the file was closed meanwhile";
    }
    if (e instanceof FileSystemException f) {
      return errno(f.getReason());
    }
    String message = e.getMessage();
    return message == null || message.isBlank()
        ? "an input or output error that has no description"
        : message;
  }

  private static String errno(@org.jspecify.annotations.Nullable String reason) {
    if (reason == null || reason.isBlank()) {
      return "an error that has no description";
    }
    if (reason.startsWith("Too many levels of symbolic links")) {
      return "a symbolic link stands there, or too many on the way";
    }
    return switch (reason) {
      case "Is a directory" -> "it is a directory, and a file belongs there";
      case "Not a directory" -> "something on the way to it is not a directory";
      case "No such device or address" ->
          "it is a socket, a pipe or a device, and a file belongs there";
      default -> reason;
    };
  }
}
