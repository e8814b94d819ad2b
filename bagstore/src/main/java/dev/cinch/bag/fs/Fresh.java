package dev.cinch.bag.fs;

import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.model.InWords;
import dev.cinch.bag.model.Name;
import dev.cinch.lease.Id;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.UserPrincipalNotFoundException;
import java.security.SecureRandom;
import java.util.List;
import java.util.Optional;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The idioms that see past a network filesystem's caches (rules N2, N3). Thread-safe.
 *
 * <p>A listing may come from a cache that the server's timestamps are too coarse to invalidate; a
 * name that another client created may stay "missing", for a plain open too, for a minute or until
 * somebody lists its directory. Creating always asks the server, unless a directory above is
 * thought missing.
 */
public final class Fresh {
  private static final RandomGenerator RANDOM = new SecureRandom();

  /** Of an entry that is made to be removed: nobody reads it. */
  private static final int ENTRY_MODE = 0600;

  private final StoreFs fs;
  private final RandomGenerator random;
  private final @Nullable Path store;

  /** For what is not known to be a store: to look at a file never makes an entry of its own. */
  public Fresh(StoreFs fs) {
    this(fs, RANDOM, null);
  }

  /**
   * @param random draws temporary names; thread-safe
   * @param store the directory in which and below which to look at a file may make an entry; null:
   *     nowhere
   */
  public Fresh(StoreFs fs, RandomGenerator random, @Nullable Path store) {
    this.fs = fs;
    this.random = random;
    this.store = store;
  }

  /** A name that nobody else uses, for a temporary file or directory. */
  public Path temporary(Path directory) {
    return directory.resolve(Name.TEMPORARY_PREFIX + Id.random(random));
  }

  /**
   * Lists a directory as it is on the server now (rule N2): makes and removes an entry of its own,
   * then opens and lists.
   *
   * @throws java.nio.file.AccessDeniedException where this process may not create entries
   */
  public List<String> list(Path directory) throws IOException {
    try {
      change(directory);
    } catch (NoSuchFileException e) {
      renew(directory);
      change(directory);
    }
    return fs.list(directory);
  }

  /**
   * Makes and removes an entry of its own, so that the directory's change time is another and every
   * client's cache of it is old.
   *
   * @throws java.nio.file.AccessDeniedException where this process may not create entries
   */
  public void change(Path directory) throws IOException {
    Path entry = temporary(directory);
    try {
      fs.create(entry, ENTRY_MODE).close();
    } catch (FileAlreadyExistsException e) {
      // The answer to our own request, sent twice: nobody else draws the name, and it was made.
    }
    removeQuietly(entry); // a closer may have swept it; making it was enough
  }

  /**
   * As {@link #list}; for a user who may only read, on a read-only mount, on a full disk, or on a
   * machine that has not the store's group, a plain listing: it may be old then. Good for what only
   * grows, where an old answer is not a wrong one; never for what a writer, a closer or the next
   * holder of a lease decides by.
   */
  public List<String> listAsPermitted(Path directory) throws IOException {
    Optional<List<String>> names = listIfPermitted(directory);
    return names.isPresent() ? names.get() : fs.list(directory);
  }

  /** As {@link #list}; empty for those whom {@link #listAsPermitted} is for. */
  public Optional<List<String>> listIfPermitted(Path directory) throws IOException {
    try {
      return Optional.of(list(directory));
    } catch (UserPrincipalNotFoundException e) {
      return Optional.empty();
    } catch (FileSystemException e) {
      if (e instanceof AccessDeniedException || InWords.isReadOnly(e) || InWords.isFull(e)) {
        return Optional.empty();
      }
      throw e;
    }
  }

  /**
   * Lists a directory as this machine's cache has it: may be old. That the directory itself is
   * missing is believed as by {@link #read}.
   */
  public List<String> listKnown(Path directory) throws IOException {
    try {
      return fs.list(directory);
    } catch (NoSuchFileException e) {
      renew(directory);
      return fs.list(directory);
    }
  }

  /**
   * Opens for reading; before it believes that the name is missing it looks into the parent as it
   * is on the server now (rule N3).
   */
  public StoreFile read(Path file) throws IOException {
    return look(file, () -> fs.read(file));
  }

  /**
   * As {@link #read}, of a file that others append to: with its size as the storage has it now
   * (rule N6).
   */
  public StoreFile readGrowing(Path file) throws IOException {
    if (fs.isLocal(file)) {
      return read(file);
    }
    return look(file, () -> fs.readUncached(file));
  }

  /**
   * As {@link StoreFs#freshStatus}, of a file that this user may write to; believes a "no" as
   * {@link #read} does.
   */
  public FileStatus status(Path file) throws IOException {
    return look(file, () -> fs.freshStatus(file));
  }

  /**
   * Whether a file is there that this user may read; believes a "no" as {@link #read} does.
   * Segments and records are nobody's to write, so {@link #status} would be refused.
   */
  public boolean exists(Path file) throws IOException {
    try {
      read(file).close();
      return true;
    } catch (NoSuchFileException e) {
      return false;
    }
  }

  /**
   * The whole content of a small file; see {@link #read}.
   *
   * @throws DamagedException if it has more than {@code limit} bytes
   */
  public byte[] readAll(Path file, int limit) throws IOException {
    try (StoreFile in = read(file)) {
      return readAll(in, file, limit);
    }
  }

  /** As {@link #readAll(Path, int)}, past the cache (rule N5). */
  public byte[] readAllUncached(Path file, int limit) throws IOException {
    try (StoreFile in = fs.readUncached(file)) {
      return readAll(in, file, limit);
    }
  }

  /** What is to be done between the making of a temporary file and its link. */
  @FunctionalInterface
  public interface Linking {
    void begins() throws IOException;
  }

  /** As {@link #readAll(Path, int)}, as {@link #readGrowing} opens it. */
  public byte[] readAllGrowing(Path file, int limit) throws IOException {
    try (StoreFile in = readGrowing(file)) {
      return readAll(in, file, limit);
    }
  }

  /** Turns the bytes of a file into what they say. */
  @FunctionalInterface
  public interface Decoder<T> {
    T decode(byte[] bytes) throws IOException;
  }

  /**
   * What a small file says, at most {@code limit} bytes; damaged content is read again past the
   * cache before it is believed (rule N5).
   */
  public <T> T decode(Path file, int limit, Decoder<T> decoder) throws IOException {
    try {
      return decoder.decode(readAll(file, limit));
    } catch (DamagedException e) {
      return decoder.decode(readAllUncached(file, limit));
    }
  }

  private static byte[] readAll(StoreFile in, Path file, int limit) throws IOException {
    if (in.size() > limit) { // which may be a hole of a terabyte
      throw tooLong(file, limit);
    }
    ByteBuffer buffer = ByteBuffer.allocate(1 << 13);
    while (in.read(buffer, buffer.position()) > 0 && !buffer.hasRemaining()) {
      if (buffer.capacity() > limit) {
        throw tooLong(file, limit);
      }
      buffer = ByteBuffer.allocate(buffer.capacity() * 4).put(buffer.flip());
    }
    buffer.flip();
    if (buffer.remaining() > limit) {
      throw tooLong(file, limit);
    }
    var bytes = new byte[buffer.remaining()];
    buffer.get(bytes);
    return bytes;
  }

  private static DamagedException tooLong(Path file, int limit) {
    return new DamagedException(Name.of(file), limit, "the end of the file", "more");
  }

  /**
   * Publishes content under a name that is written once: writes and forces a temporary file beside
   * it, links it, removes the temporary name. Whatever link answers, the truth is what the name
   * holds afterwards: read it.
   *
   * @throws IOException when the temporary file could not be written; nothing was published then
   */
  public void publish(Path name, byte[] content, int mode) throws IOException {
    publish(name, content, mode, () -> {});
  }

  /**
   * As {@link #publish(Path, byte[], int)}.
   *
   * @param linking asked just before the link: if it fails nothing is published. From then on the
   *     name may come into existence, whatever this says
   */
  public void publish(Path name, byte[] content, int mode, Linking linking) throws IOException {
    Path temporary = temporary(parent(name));
    try {
      try (StoreFile out = fs.create(temporary, mode)) {
        out.write(ByteBuffer.wrap(content));
        out.force();
      }
      linking.begins();
      try {
        fs.link(temporary, name);
      } catch (FileAlreadyExistsException e) {
        // Lost, or the answer to our own retransmitted LINK: the caller reads the name.
      }
      fs.forceDirectory(parent(name));
    } finally {
      removeQuietly(temporary);
    }
  }

  /** Makes a directory unless it is there. */
  public boolean ensureDirectory(Path directory, int mode) throws IOException {
    try {
      fs.mkdir(directory, mode);
      return true;
    } catch (FileAlreadyExistsException e) {
      return false;
    }
  }

  /** Removes a name of our own; what is left behind is swept by others, so failing is no error. */
  public void removeQuietly(Path file) {
    try {
      fs.unlink(file);
    } catch (IOException e) {
      // Already gone, or the directory was closed: a name with the temporary prefix means nothing
      // to anyone.
    }
  }

  private interface Look<T> {
    T at() throws IOException;
  }

  /** Believes that something is missing only after its directory was renewed (rule N3). */
  private <T> T look(Path file, Look<T> look) throws IOException {
    try {
      return look.at();
    } catch (NoSuchFileException e) {
      renew(parent(file));
      return look.at();
    }
  }

  /**
   * Lists a directory, and if that is missing what is above it first: nothing is found below a
   * directory that this machine's cache has as missing.
   */
  private void renew(Path directory) throws IOException {
    try {
      listChanged(directory);
    } catch (NoSuchFileException e) {
      Path above = directory.getParent();
      if (above == null) {
        throw e;
      }
      try {
        renew(above);
      } catch (AccessDeniedException denied) {
        throw e; // who may not list what is above must believe it
      }
      listChanged(directory);
    }
  }

  /**
   * Lists a directory of the store, where it can after an entry of its own: a listing alone may
   * come from a cache, and then it does not end what is believed to be missing either.
   */
  private void listChanged(Path directory) throws IOException {
    if (store != null && directory.startsWith(store) && !fs.isLocal(directory)) {
      try {
        change(directory);
      } catch (IOException e) {
        // Not permitted, or no room: then the listing must do.
      }
    }
    List<String> unused = fs.list(directory);
  }

  /** The directory in which a file stands. */
  public static Path parent(Path file) {
    Path parent = file.getParent();
    if (parent == null) {
      throw new IllegalArgumentException("no parent: " + file);
    }
    return parent;
  }
}
