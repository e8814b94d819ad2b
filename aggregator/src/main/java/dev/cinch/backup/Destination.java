package dev.cinch.backup;

import com.google.errorprone.annotations.CheckReturnValue;
import dev.cinch.bag.format.DamagedException;
import dev.cinch.bag.format.ForeignEntryException;
import dev.cinch.bag.format.StoreIdentity;
import dev.cinch.bag.fs.FileStatus;
import dev.cinch.bag.fs.Fresh;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.bag.model.Name;
import dev.cinch.bag.model.StoreLayout;
import dev.cinch.bag.model.StoreSettings;
import dev.cinch.bag.model.Stored;
import dev.cinch.bag.storage.Freshness;
import dev.cinch.bag.storage.Storage;
import dev.cinch.lease.Sha256;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.function.LongConsumer;
import java.util.random.RandomGenerator;

/**
 * The directory that a backup is made in. One backup at a time works there, and nobody else changes
 * anything. So nothing is looked for past caches. Whatever a file is called, it is whole and
 * durable before it has its name. Not thread-safe.
 */
@CheckReturnValue
final class Destination {
  private static final int CHUNK = 1 << 18;

  private final StoreFs fs;
  private final Fresh fresh;
  private final StoreLayout layout;
  private final StoreSettings settings;
  private final LongConsumer progress;
  private final Set<Name> made = new HashSet<>();
  private final ByteBuffer chunk = ByteBuffer.allocate(CHUNK);
  private long files;
  private long bytes;

  /**
   * @param random draws temporary names
   * @param progress told the number of files written so far, after each
   */
  Destination(
      StoreFs fs,
      RandomGenerator random,
      StoreLayout layout,
      StoreSettings settings,
      LongConsumer progress) {
    this.progress = progress;
    this.fs = fs;
    this.fresh = new Fresh(fs, random, null);
    this.layout = layout;
    this.settings = settings;
  }

  StoreLayout layout() {
    return layout;
  }

  StoreSettings settings() {
    return settings;
  }

  /** How many files were written so far. */
  long files() {
    return files;
  }

  /** How many bytes were written so far. */
  long bytes() {
    return bytes;
  }

  /** The names in a directory, but for temporary ones; none if it is not there. */
  List<String> names(Name place) throws IOException {
    try {
      return fs.list(fs.path(place)).stream().filter(n -> !Name.isTemporary(n)).sorted().toList();
    } catch (NoSuchFileException | NotDirectoryException e) {
      return List.of();
    }
  }

  boolean has(Name file) throws IOException {
    try {
      FileStatus unused = fs.status(fs.path(file));
      return true;
    } catch (NoSuchFileException | NotDirectoryException e) {
      return false;
    }
  }

  byte[] read(Name file, int limit) throws IOException {
    return fresh.readAll(fs.path(file), limit);
  }

  StoreFile open(Name file) throws IOException {
    return fs.read(fs.path(file));
  }

  /** Makes a directory and those above it; what an earlier run left half-made in it goes. */
  void directory(Name directory) throws IOException {
    if (!made.add(directory)) {
      return;
    }
    Name above = directory.parent();
    if (!directory.equals(layout.root())) {
      directory(above);
    }
    if (fresh.ensureDirectory(fs.path(directory), settings.directoryMode())) {
      fs.forceDirectory(fs.path(above));
      return;
    }
    for (String name : fs.list(fs.path(directory))) {
      if (Name.isTemporary(name)) {
        fresh.removeQuietly(fs.path(directory.resolve(name)));
      }
    }
  }

  /** Writes a document unless it is there. */
  void publish(Name file, byte[] content) throws IOException {
    if (has(file)) {
      return;
    }
    directory(file.parent());
    fresh.publish(fs.path(file), content, mode(file));
    written(content.length);
  }

  /**
   * As {@link #publish}.
   *
   * @throws BackupRefusedException if another one is there
   */
  void publishSame(Name file, byte[] content) throws IOException {
    publish(file, content);
    if (!Arrays.equals(content, read(file, content.length + 1))) {
      throw new BackupRefusedException(file + " is another one in the store");
    }
  }

  private int mode(Name file) {
    boolean own = file.startsWith(layout.keys()) || file.startsWith(layout.service());
    return own ? settings.fileMode() & ~0022 : settings.fileMode();
  }

  private void written(long length) {
    files++;
    bytes += length;
    progress.accept(files);
  }

  /** Makes an empty file, unless it is there, and its name durable. */
  void note(Name file) throws IOException {
    directory(file.parent());
    try {
      fs.create(fs.path(file), mode(file)).close();
      written(0);
    } catch (FileAlreadyExistsException e) {
      // Of an earlier run.
    }
    secure(file.parent());
  }

  /**
   * A whole copy of a settled file, that has no name yet but a temporary one.
   *
   * @param sha256 of all its bytes
   */
  Name draft(Name place, Storage from, Name document, String sha256) throws IOException {
    try {
      return draft(place, from, document, sha256, Freshness.CACHED);
    } catch (DamagedException e) {
      return draft(place, from, document, sha256, Freshness.CERTAIN); // rule N5
    }
  }

  private Name draft(Name place, Storage from, Name document, String sha256, Freshness freshness)
      throws IOException {
    directory(place);
    MessageDigest digest = Sha256.digest();
    Name file = Name.of(fresh.temporary(fs.path(place)));
    long length;
    try (Stored in = from.open(document, freshness);
        StoreFile out = fs.create(fs.path(file), settings.fileMode())) {
      length = in.size();
      for (long at = 0; at < length; ) {
        chunk.clear().limit((int) Math.min(CHUNK, length - at));
        int read = in.read(chunk, at);
        if (read <= 0) {
          throw new NoSuchFileException(file.toString(), null, "its source became shorter");
        }
        at += read;
        digest.update(chunk.array(), 0, read);
        out.write(chunk.flip());
      }
      out.force();
    }
    String found = HexFormat.of().formatHex(digest.digest());
    if (!found.equals(sha256)) {
      remove(file);
      throw new DamagedException(document, 0, "SHA-256 " + sha256, found);
    }
    fs.chmod(fs.path(file), settings.closedFileMode());
    written(length);
    return file;
  }

  /** Gives a draft its name, durably. */
  void link(Name draft, Name file) throws IOException {
    try {
      fs.link(fs.path(draft), fs.path(file));
    } catch (FileAlreadyExistsException e) {
      // Of an earlier run, and whole.
    }
    fs.unlink(fs.path(draft));
    secure(file.parent());
  }

  StoreIdentity identity(Name file) throws IOException {
    return StoreIdentity.decode(read(file, StoreIdentity.MAX_BYTES), file);
  }

  void remove(Name file) throws IOException {
    try {
      fs.unlink(fs.path(file));
    } catch (NoSuchFileException e) {
      // Of an earlier run.
    }
  }

  /** Makes durable what was made or removed in a directory. */
  void secure(Name directory) throws IOException {
    fs.forceDirectory(fs.path(directory));
  }

  /** Removes a directory with all that is in it. */
  void removeAll(Name directory) throws IOException {
    List<String> names = fs.list(fs.path(directory));
    fs.chmod(fs.path(directory), settings.directoryMode());
    for (String name : names) {
      Name each = directory.resolve(name);
      try {
        removeAll(each);
      } catch (NotDirectoryException | ForeignEntryException e) {
        remove(each);
      }
    }
    fs.rmdir(fs.path(directory));
    made.remove(directory);
    secure(directory.parent());
  }
}
