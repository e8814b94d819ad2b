package dev.cinch.lease.access;

import com.google.errorprone.annotations.CheckReturnValue;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Of a file, whether it is another one than before: one that was renamed into its place within the
 * same tick of the clock is. Immutable and thread-safe.
 */
@CheckReturnValue
public record FileVersion(@Nullable Object key, long size, FileTime modified) {
  /** That of a file now; empty if there is none. */
  public static Optional<FileVersion> of(Path file) throws IOException {
    try {
      var a = Files.readAttributes(file, BasicFileAttributes.class);
      return Optional.of(new FileVersion(a.fileKey(), a.size(), a.lastModifiedTime()));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }
}
