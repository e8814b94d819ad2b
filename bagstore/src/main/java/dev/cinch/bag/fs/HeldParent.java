package dev.cinch.bag.fs;

import dev.cinch.bag.format.ForeignEntryException;
import dev.cinch.bag.model.Name;
import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.GroupPrincipal;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The directory of one entry, held open while the entry is changed or removed: whatever somebody
 * puts on the way to it meanwhile, nothing outside the store is touched (rule N7). Not thread-safe.
 *
 * <p>After opening it looks, from the directory itself upwards, whether the store's root is as far
 * above as the path says. The entry is then named relative to it, and never followed. Where the
 * platform has no such directories the looks of {@link LinkGuard} must do.
 */
final class HeldParent implements Closeable {
  private static final PosixFilePermission[] BITS = {
    PosixFilePermission.OTHERS_EXECUTE,
    PosixFilePermission.OTHERS_WRITE,
    PosixFilePermission.OTHERS_READ,
    PosixFilePermission.GROUP_EXECUTE,
    PosixFilePermission.GROUP_WRITE,
    PosixFilePermission.GROUP_READ,
    PosixFilePermission.OWNER_EXECUTE,
    PosixFilePermission.OWNER_WRITE,
    PosixFilePermission.OWNER_READ
  };

  private final Path path;
  private final Path name;
  private final @Nullable SecureDirectoryStream<Path> held;

  private HeldParent(Path path, @Nullable SecureDirectoryStream<Path> held) {
    this.path = path;
    this.name = Objects.requireNonNull(path.getFileName());
    this.held = held;
  }

  /** Opens the directory in which an entry stands. */
  static HeldParent of(Path path, LinkGuard guard) throws IOException {
    Path parent = path.getParent();
    Path directory =
        parent == null ? Objects.requireNonNull(path.toAbsolutePath().getParent()) : parent;
    DirectoryStream<Path> opened;
    try {
      opened = Files.newDirectoryStream(directory);
    } catch (IOException e) {
      throw named(e, path);
    }
    if (!(opened instanceof SecureDirectoryStream<Path> held)) {
      opened.close();
      return new HeldParent(path, null);
    }
    try {
      if (!isInStore(held, guard, guard.depth(path) - 1)) {
        throw ForeignEntryException.notADirectory(
            Name.of(directory), "one that is not in the store");
      }
      return new HeldParent(path, held);
    } catch (IOException e) {
      held.close();
      throw named(e, path);
    }
  }

  /**
   * @param below how many levels below the root it is; below 0: elsewhere, where nothing is asked
   */
  private static boolean isInStore(
      SecureDirectoryStream<Path> directory, LinkGuard guard, int below) throws IOException {
    if (below < 0) {
      return true;
    }
    Path up = Path.of(below == 0 ? "." : "../".repeat(below));
    Object there =
        directory
            .getFileAttributeView(up, BasicFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
            .readAttributes()
            .fileKey();
    return Objects.equals(there, guard.rootKey());
  }

  /**
   * @param options with {@link LinkOption#NOFOLLOW_LINKS}, or creating
   */
  FileChannel open(Set<? extends OpenOption> options, FileAttribute<?>... attributes)
      throws IOException {
    try {
      return held == null
          ? FileChannel.open(path, options, attributes)
          : (FileChannel) held.newByteChannel(name, Set.copyOf(options), attributes);
    } catch (IOException e) {
      throw named(e, path);
    }
  }

  void unlink() throws IOException {
    try {
      if (held == null) {
        Files.delete(path);
      } else {
        held.deleteFile(name);
      }
    } catch (IOException e) {
      throw named(e, path);
    }
  }

  void rmdir() throws IOException {
    try {
      if (held == null) {
        Files.delete(path);
      } else {
        held.deleteDirectory(name);
      }
    } catch (IOException e) {
      throw named(e, path);
    }
  }

  private PosixFileAttributeView view() {
    return held == null
        ? Files.getFileAttributeView(path, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
        : held.getFileAttributeView(name, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS);
  }

  /** Gives a file that was just created its group and mode, where it has not got them. */
  void own(@Nullable GroupPrincipal owners, int mode) throws IOException {
    try {
      PosixFileAttributeView view = view();
      PosixFileAttributes now = view.readAttributes();
      boolean moved = owners != null && !now.group().equals(owners);
      if (moved) {
        view.setGroup(owners);
      }
      if (moved || !now.permissions().equals(permissions(mode))) {
        view.setPermissions(permissions(mode));
      }
    } catch (IOException e) {
      throw named(e, path);
    }
  }

  /** Sets the mode of a file. */
  void chmod(int mode) throws IOException {
    try {
      view().setPermissions(permissions(mode));
    } catch (IOException e) {
      throw named(e, path);
    }
  }

  /** What the lowest nine bits of a mode permit. */
  static Set<PosixFilePermission> permissions(int mode) {
    Set<PosixFilePermission> all = EnumSet.noneOf(PosixFilePermission.class);
    for (int i = 0; i < BITS.length; i++) {
      if ((mode & 1 << i) != 0) {
        all.add(BITS[i]);
      }
    }
    return all;
  }

  /** The same error, with the whole path and not only the name. */
  static IOException named(IOException e, Path path) {
    String full = path.toString();
    if (e.getClass() == IOException.class) { // how a link is told that is not followed
      var named = new FileSystemException(full, null, e.getMessage());
      named.initCause(e);
      return named;
    }
    if (e instanceof ForeignEntryException || !(e instanceof FileSystemException f)) {
      return e;
    }
    if (e instanceof NoSuchFileException) {
      return new NoSuchFileException(full);
    }
    if (e instanceof FileAlreadyExistsException) {
      return new FileAlreadyExistsException(full);
    }
    if (e instanceof AccessDeniedException) {
      return new AccessDeniedException(full);
    }
    if (e instanceof DirectoryNotEmptyException) {
      return new DirectoryNotEmptyException(full);
    }
    return e.getClass() == FileSystemException.class
        ? new FileSystemException(full, null, f.getReason())
        : e;
  }

  @Override
  public void close() throws IOException {
    if (held != null) {
      held.close();
    }
  }
}
