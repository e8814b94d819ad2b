package dev.cinch.bag.fs;

import dev.cinch.bag.model.Name;
import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystem;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFileAttributes;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * A filesystem within this process, such as jimfs, on which programs test what they do with a
 * store. It must have the attributes "posix" of {@code java.nio.file}. Nothing is cached, and
 * nothing survives the process. Change times are those of a clock that the test owns. Thread-safe.
 */
public final class VirtualFs implements StoreFs {
  private static final Set<OpenOption> CREATE =
      Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE, StandardOpenOption.APPEND);
  private static final Set<OpenOption> OVERWRITE =
      Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE);
  private static final Set<OpenOption> READ = Set.of(StandardOpenOption.READ);

  private final FileSystem files;
  private final TimeSource time;

  /**
   * @param files where the store is
   * @param time whose wall clock is the filesystem's
   */
  public VirtualFs(FileSystem files, TimeSource time) {
    this.files = files;
    this.time = time;
  }

  @Override
  public Path path(Name name) {
    return files.getPath(name.text());
  }

  private void changed(Path path) throws IOException {
    Path unused =
        Files.setLastModifiedTime(path, FileTime.from(time.wallNanos(), TimeUnit.NANOSECONDS));
  }

  @Override
  public void mkdir(Path directory, int mode) throws IOException {
    Files.createDirectory(directory);
    chmod(directory, mode);
  }

  @Override
  public void rmdir(Path directory) throws IOException {
    Files.delete(directory);
  }

  @Override
  public StoreFile create(Path file, int mode) throws IOException {
    FileChannel channel = FileChannel.open(file, CREATE);
    chmod(file, mode);
    return new Written(new ChannelFile(channel, 1, file), file);
  }

  @Override
  public StoreFile overwrite(Path file) throws IOException {
    return new Written(open(file, OVERWRITE), file);
  }

  private static StoreFile open(Path file, Set<OpenOption> options) throws IOException {
    return new ChannelFile(FileChannel.open(file, options), 1, file);
  }

  @Override
  public StoreFile read(Path file) throws IOException {
    return open(file, READ);
  }

  @Override
  public StoreFile readUncached(Path file) throws IOException {
    return open(file, READ);
  }

  @Override
  public boolean isLocal(Path file) {
    return true;
  }

  @Override
  public FileStatus status(Path path) throws IOException {
    PosixFileAttributes a = Files.readAttributes(path, PosixFileAttributes.class);
    int mode = 0;
    for (int bit = 0; bit < 9; bit++) {
      if (a.permissions().containsAll(HeldParent.permissions(1 << bit))) {
        mode |= 1 << bit;
      }
    }
    return new FileStatus(
        0, String.valueOf(a.fileKey()).hashCode(), a.size(), changeTime(a), mode, 0);
  }

  private static long changeTime(PosixFileAttributes a) {
    return a.lastModifiedTime().to(TimeUnit.NANOSECONDS);
  }

  @Override
  public List<String> list(Path directory) throws IOException {
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
      return PosixFs.names(entries);
    } catch (DirectoryIteratorException e) {
      throw e.getCause();
    }
  }

  @Override
  public void link(Path existing, Path name) throws IOException {
    Path unused = Files.createLink(name, existing);
    changed(name);
  }

  @Override
  public void chmod(Path path, int mode) throws IOException {
    Path unused = Files.setPosixFilePermissions(path, HeldParent.permissions(mode));
    changed(path);
  }

  @Override
  public void unlink(Path file) throws IOException {
    Files.delete(file);
  }

  @Override
  public void forceDirectory(Path directory) throws IOException {
    Object unused = Files.readAttributes(directory, PosixFileAttributes.class); // there is one
  }

  /** A file whose change time is the test's. */
  private final class Written implements StoreFile {
    private final StoreFile file;
    private final Path path;

    Written(StoreFile file, Path path) {
      this.file = file;
      this.path = path;
    }

    @Override
    public void write(ByteBuffer... buffers) throws IOException {
      file.write(buffers);
      changed(path);
    }

    @Override
    public void force() throws IOException {
      file.force();
    }

    @Override
    public int read(ByteBuffer into, long offset) throws IOException {
      return file.read(into, offset);
    }

    @Override
    public long size() throws IOException {
      return file.size();
    }

    @Override
    public void close() throws IOException {
      file.close();
    }
  }
}
