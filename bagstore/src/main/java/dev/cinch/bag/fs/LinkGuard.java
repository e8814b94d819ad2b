package dev.cinch.bag.fs;

import dev.cinch.bag.format.ForeignEntryException;
import dev.cinch.bag.model.Name;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Looks what stands in a store before it is opened (rule N7): no link below the root is followed,
 * and nothing but a regular file is opened as one. Thread-safe.
 *
 * <p>What is missing or barred is left to the operation to say, so that a look is never the source
 * of a "no" (rule N3). A look comes before the operation, so somebody may put something else there
 * in between; what changes or removes therefore goes through a {@link HeldParent}.
 *
 * <p>A directory whose way was looked at is known again by its key, the device and inode: whatever
 * its name leads through by then, it leads to that directory. That saves a look at each one above.
 */
final class LinkGuard {
  private static final int MOST_KNOWN = 1_000;
  private static final int TYPE = 0170000;
  private static final int PIPE = 0010000;
  private static final int CHARACTERS = 0020000;
  private static final int BLOCKS = 0060000;
  private static final int SOCKET = 0140000;

  private final @Nullable Path root;
  private final Map<Path, Object> known = new ConcurrentHashMap<>();

  /**
   * @param root of the store, which may be a link, as may what is above it; null: not known, so
   *     that only the last component of a path is looked at
   */
  LinkGuard(@Nullable Path root) {
    this.root = root;
  }

  boolean isBelow(Path path) {
    Path top = root;
    if (top == null) {
      return false;
    }
    if (top.toString().isEmpty()) {
      return !path.isAbsolute() && !path.toString().isEmpty();
    }
    return path.getNameCount() > top.getNameCount() && path.startsWith(top);
  }

  /** How many directories below the root's own entries a path is. */
  int depth(Path path) {
    Path top = root;
    if (top == null || !isBelow(path)) {
      return 0;
    }
    return path.getNameCount() - (top.toString().isEmpty() ? 0 : top.getNameCount());
  }

  /** The key of the root, wherever that leads. */
  @Nullable Object rootKey() throws IOException {
    Path top = root;
    return top == null ? null : Files.readAttributes(top, BasicFileAttributes.class).fileKey();
  }

  /**
   * @throws ForeignEntryException if something that a path leads through below the root is no
   *     directory
   */
  void parents(Path path) throws ForeignEntryException {
    Path parent = path.getParent();
    if (parent != null && isBelow(parent)) {
      real(parent);
    }
  }

  /**
   * As {@link #parents}, with the directory itself.
   *
   * @throws NotDirectoryException if it is the root or elsewhere, and none
   */
  void directory(Path directory) throws ForeignEntryException, NotDirectoryException {
    if (isBelow(directory)) {
      real(directory);
      return;
    }
    try {
      if (!Files.readAttributes(directory, BasicFileAttributes.class).isDirectory()) {
        throw new NotDirectoryException(directory.toString());
      }
    } catch (NotDirectoryException e) {
      throw e;
    } catch (IOException e) {
      return; // the operation says so
    }
  }

  private void real(Path directory) throws ForeignEntryException {
    BasicFileAttributes a = look(directory);
    Object key = a == null || !a.isDirectory() ? null : a.fileKey();
    if (key != null && key.equals(known.get(directory))) {
      return;
    }
    parents(directory);
    if (a == null) {
      return;
    }
    if (!a.isDirectory()) {
      throw ForeignEntryException.notADirectory(Name.of(directory), kind(directory, a));
    }
    if (key != null) {
      if (known.size() >= MOST_KNOWN) {
        known.clear();
      }
      known.put(directory, key);
    }
  }

  /**
   * @throws ForeignEntryException if there is anything there but a regular file, or on the way
   */
  void file(Path file) throws ForeignEntryException {
    BasicFileAttributes a = look(file);
    parents(file);
    if (a != null && !a.isRegularFile()) {
      throw ForeignEntryException.notAFile(Name.of(file), kind(file, a));
    }
  }

  /** As {@link #file}, of one that is to be changed: it has no other name. */
  void changeable(Path file) throws ForeignEntryException {
    file(file);
    try {
      Object names = Files.getAttribute(file, "unix:nlink", LinkOption.NOFOLLOW_LINKS);
      if (names instanceof Integer n && n > 1) {
        throw ForeignEntryException.manyNames(Name.of(file), n);
      }
    } catch (ForeignEntryException e) {
      throw e;
    } catch (IOException | UnsupportedOperationException | IllegalArgumentException e) {
      return; // the operation says so, or there are no such names here
    }
  }

  private static @Nullable BasicFileAttributes look(Path path) {
    try {
      return Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    } catch (IOException e) {
      return null;
    }
  }

  private static String kind(Path path, BasicFileAttributes a) {
    if (a.isSymbolicLink()) {
      return "a symbolic link";
    }
    if (a.isDirectory()) {
      return "a directory";
    }
    if (a.isRegularFile()) {
      return "a regular file";
    }
    try {
      Object mode = Files.getAttribute(path, "unix:mode", LinkOption.NOFOLLOW_LINKS);
      return switch ((Integer) mode & TYPE) {
        case PIPE -> "a named pipe";
        case SOCKET -> "a socket";
        case CHARACTERS, BLOCKS -> "a device";
        default -> "something else";
      };
    } catch (IOException | UnsupportedOperationException | IllegalArgumentException e) {
      return "something else";
    }
  }
}
