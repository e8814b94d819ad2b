package dev.cinch.bag.fs;

import dev.cinch.bag.format.ForeignEntryException;
import dev.cinch.bag.model.Name;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Every operation that Cinch ever asks of the shared filesystem, and no other (rule N1).
 *
 * <p>Never rename, never map a file that others write, no advisory locks across machines. It is
 * narrow so that a test can stand between the store and the filesystem and fail, crash, delay or
 * reorder any single operation.
 *
 * <p>Errors are those of {@code java.nio.file}: {@link java.nio.file.NoSuchFileException}, {@link
 * java.nio.file.FileAlreadyExistsException}, {@link java.nio.file.AccessDeniedException} (EACCES),
 * and other {@link IOException}s for the rest (EPERM, ESTALE, EIO, ENOSPC, EDQUOT, EROFS). {@link
 * ForeignEntryException} says that something stands there which is never opened, followed, changed
 * or removed (rule N7). Implementations are thread-safe.
 */
public interface StoreFs {
  /**
   * The same filesystem for the store in a directory: where there may be links, none is followed
   * below that (rule N7).
   *
   * @param group name of the group that everything created gets; empty: whatever the filesystem
   *     gives
   */
  default StoreFs forStore(Path root, Optional<String> group) {
    return this;
  }

  /** Where a name is. */
  default Path path(Name name) {
    return name.path();
  }

  /** Makes a directory and gives it the mode; the parent must exist. */
  void mkdir(Path directory, int mode) throws IOException;

  /** Removes an empty directory. */
  void rmdir(Path directory) throws IOException;

  /** Creates a file that must not exist, gives it the mode, and opens it for appending. */
  StoreFile create(Path file, int mode) throws IOException;

  /** Opens a file for writing from its first byte on, keeping what it holds; never creates it. */
  StoreFile overwrite(Path file) throws IOException;

  /** Opens a file for reading. */
  StoreFile read(Path file) throws IOException;

  /**
   * Opens a file for reading in a way that asks the storage again instead of a cache, for its size
   * too, where the filesystem can (rules N5, N6); otherwise as {@link #read}.
   */
  StoreFile readUncached(Path file) throws IOException;

  /**
   * Whether the file stands on a filesystem of one kernel, so that no other machine could change
   * what this one believes, and what was written is where others see it. On any other one, a client
   * that was given a delegation or a capability for a file may answer opens and attributes by
   * itself and keep what it closed, also when that was revoked and it does not know yet.
   */
  default boolean isLocal(Path file) throws IOException {
    return false;
  }

  /**
   * Whether a read past the cache reaches the server wherever it begins. A FUSE client answers one
   * by itself that begins at or past the end which it believes the file to have, as each read of a
   * file does that it believes to be empty; and it believes so while its attributes last, whoever
   * opens the file.
   */
  default boolean readsReachServer(Path file) throws IOException {
    return true;
  }

  /**
   * Attributes by path. Fresh only right after an open of the same path: on a network filesystem
   * they may otherwise come from a cache.
   */
  FileStatus status(Path path) throws IOException;

  /**
   * As {@link #readUncached} of a file that others write; where it matters, opened for writing too,
   * so the user must be permitted to.
   */
  default StoreFile readShared(Path file) throws IOException {
    return readUncached(file);
  }

  /**
   * Attributes of a file as the server has them now. Opens it first, since close-to-open makes them
   * fresh then (rule N6), and reads past the cache: an NFSv4 client that was given a delegation
   * answers opens and attributes by itself, also when the delegation was revoked and it does not
   * know yet, and only such a read is sure to reach the server. A filesystem that no other machine
   * can see needs nothing of that.
   *
   * @return a size above 0 if there is any byte, and 0 if there is none
   */
  default FileStatus freshStatus(Path file) throws IOException {
    int there;
    try (StoreFile in = readShared(file)) {
      there = in.read(ByteBuffer.allocate(1), 0);
    }
    FileStatus known = status(file);
    return there > known.size() ? known.withSize(there) : known;
  }

  /**
   * The names in a directory, each once, in no order, without {@code .} and {@code ..}; see {@link
   * Fresh#list} for one that must be fresh.
   */
  List<String> list(Path directory) throws IOException;

  /** Makes {@code name} another name of {@code existing}; fails if there is such a name. */
  void link(Path existing, Path name) throws IOException;

  /** Sets the mode bits (07777) of a file or directory. */
  void chmod(Path path, int mode) throws IOException;

  /** Removes a file's name. */
  void unlink(Path file) throws IOException;

  /**
   * Forces a directory's entries to stable storage, where the filesystem can; otherwise does
   * nothing.
   */
  void forceDirectory(Path directory) throws IOException;
}
