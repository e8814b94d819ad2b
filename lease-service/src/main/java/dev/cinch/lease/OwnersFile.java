package dev.cinch.lease;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.errorprone.annotations.CheckReturnValue;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/** Files with secrets: mode 0600 from the start, where the filesystem knows modes. Stateless. */
@CheckReturnValue
public final class OwnersFile {
  private OwnersFile() {}

  /**
   * Writes a new file, and forces it. Where the disk is full there is none afterwards.
   *
   * @throws FileAlreadyExistsException if there is one; it is left alone
   */
  public static void writeNew(Path file, String text) throws IOException {
    var options = Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    try (FileChannel channel = FileChannel.open(file, options, mode(file))) {
      ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(UTF_8));
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
      channel.force(true);
    } catch (FileSystemException e) {
      throw e;
    } catch (IOException e) { // a channel does not say of which file
      Files.deleteIfExists(file);
      throw new FileSystemException(file.toString(), null, e.getMessage());
    }
  }

  /** The mode, for files that are opened otherwise; nothing where the filesystem knows none. */
  public static FileAttribute<?>[] mode(Path file) {
    return file.getFileSystem().supportedFileAttributeViews().contains("posix")
        ? new FileAttribute<?>[] {
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
        }
        : new FileAttribute<?>[0];
  }

  /**
   * Writes it in the place of a file, of which others see all or nothing; one process at a time.
   */
  public static void replace(Path file, String text) throws IOException {
    Path next = file.resolveSibling(file.getFileName() + ".new");
    Files.deleteIfExists(next);
    writeNew(next, text);
    Path unused =
        Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
  }
}
