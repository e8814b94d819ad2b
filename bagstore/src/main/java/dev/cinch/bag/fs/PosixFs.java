package dev.cinch.bag.fs;

import com.sun.nio.file.ExtendedOpenOption;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NotDirectoryException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.GroupPrincipal;
import java.nio.file.attribute.PosixFileAttributeView;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The real thing: any POSIX filesystem that {@code java.nio.file} reaches. Thread-safe.
 *
 * <p>Modes and group are set right after creating, because Java can neither set the umask nor pass
 * the setgid bit (rule C6).
 */
public final class PosixFs implements StoreFs {
  private static final Set<OpenOption> CREATE =
      Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE, StandardOpenOption.APPEND);
  private static final Set<OpenOption> APPEND =
      Set.of(StandardOpenOption.WRITE, StandardOpenOption.APPEND);
  private static final Set<OpenOption> OVERWRITE = Set.of(StandardOpenOption.WRITE);
  private static final Set<OpenOption> READ = Set.of(StandardOpenOption.READ);
  private static final Set<OpenOption> SHARED =
      Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE);
  private static final Set<OpenOption> READ_DIRECT =
      Set.of(StandardOpenOption.READ, ExtendedOpenOption.DIRECT);

  /**
   * For writing too: servers up to Linux 6.1 give a client that only reads a delegation, and who
   * sets a prelock then has to wait until they have it back.
   */
  private static final Set<OpenOption> SHARED_DIRECT =
      Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE, ExtendedOpenOption.DIRECT);

  private static final FileAttribute<?>[] NO_ATTRIBUTES = {};

  /** EINVAL, which is how an open says so, in the language of this process. */
  private static final String NOT_SUPPORTED = notSupported();

  private static final String STATUS = "unix:dev,ino,size,ctime,mode,uid";

  /**
   * Filesystems of one kernel: attributes by path never come from a cache that another machine
   * could make stale.
   */
  private static final Set<String> LOCAL_TYPES =
      Set.of("ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "zfs");

  private final @Nullable String group;

  /** Of the filesystem of the first file asked about; an instance serves one store. */
  private volatile @Nullable String type;

  /** Of the store's filesystem, which direct reads must respect; 0: not asked for yet. */
  private volatile int blockSize;

  /**
   * @param group name of the group that everything created gets; null: whatever the filesystem
   *     gives (setgid directories)
   */
  public PosixFs(@Nullable String group) {
    this.group = group;
  }

  /** As Linux says it of a file that certainly has no direct reads. */
  private static String notSupported() {
    try {
      FileChannel.open(Path.of("/proc/self/status"), READ_DIRECT, NO_ATTRIBUTES).close();
    } catch (FileSystemException e) {
      String reason = e.getReason();
      if (reason != null && e.getClass() == FileSystemException.class) {
        return reason;
      }
    } catch (IOException | UnsupportedOperationException e) {
      // No Linux, or no such file: in English then.
    }
    return "Invalid argument";
  }

  @Override
  public void mkdir(Path directory, int mode) throws IOException {
    @Nullable GroupPrincipal owners = owners(directory);
    Files.createDirectory(directory);
    own(directory, owners, mode);
  }

  @Override
  public void rmdir(Path directory) throws IOException {
    Files.delete(directory);
  }

  @Override
  public StoreFile create(Path file, int mode) throws IOException {
    @Nullable GroupPrincipal owners = owners(file);
    FileChannel channel = FileChannel.open(file, CREATE, NO_ATTRIBUTES);
    try {
      own(file, owners, mode);
    } catch (IOException | RuntimeException e) {
      channel.close();
      throw e;
    }
    return new ChannelFile(channel, 1);
  }

  /** Looked up before anything is made: a machine without that group would leave it behind. */
  private @Nullable GroupPrincipal owners(Path path) throws IOException {
    return group == null
        ? null
        : path.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByGroupName(group);
  }

  private void own(Path path, @Nullable GroupPrincipal owners, int mode) throws IOException {
    if (owners != null) {
      PosixFileAttributeView view = Files.getFileAttributeView(path, PosixFileAttributeView.class);
      if (!view.readAttributes().group().equals(owners)) {
        view.setGroup(owners);
      }
    }
    chmod(path, mode); // after the group: chown clears setgid
  }

  @Override
  public StoreFile append(Path file) throws IOException {
    return new ChannelFile(FileChannel.open(file, APPEND, NO_ATTRIBUTES), 1);
  }

  @Override
  public StoreFile overwrite(Path file) throws IOException {
    return new ChannelFile(FileChannel.open(file, OVERWRITE, NO_ATTRIBUTES), 1);
  }

  @Override
  public StoreFile read(Path file) throws IOException {
    return new ChannelFile(FileChannel.open(file, READ, NO_ATTRIBUTES), 1);
  }

  @Override
  public StoreFile readUncached(Path file) throws IOException {
    return direct(file, READ_DIRECT, READ);
  }

  @Override
  public StoreFile readShared(Path file) throws IOException {
    return direct(file, SHARED_DIRECT, SHARED);
  }

  /**
   * Whether reads of a file go past the cache; where not, {@link #readShared} and {@link
   * #readUncached} go through it.
   *
   * @param file that this user may read and write
   */
  public boolean hasDirectReads(Path file) throws IOException {
    try {
      FileChannel.open(file, SHARED_DIRECT, NO_ATTRIBUTES).close();
      return true;
    } catch (FileSystemException e) {
      if (!NOT_SUPPORTED.equals(e.getReason())) {
        throw e; // says nothing about direct reads
      }
      return false;
    } catch (UnsupportedOperationException e) {
      return false; // as EINVAL
    }
  }

  /** Past the cache; through it only where there are no direct reads (tmpfs). */
  private StoreFile direct(Path file, Set<OpenOption> options, Set<OpenOption> otherwise)
      throws IOException {
    try {
      return direct(file, options);
    } catch (FileSystemException e) {
      if (!NOT_SUPPORTED.equals(e.getReason())) {
        throw e; // reading through the cache instead could give an old answer
      }
    } catch (UnsupportedOperationException e) {
      // As EINVAL: this filesystem has no direct reads.
    }
    return new ChannelFile(FileChannel.open(file, otherwise, NO_ATTRIBUTES), 1);
  }

  private StoreFile direct(Path file, Set<OpenOption> options) throws IOException {
    FileChannel channel = FileChannel.open(file, options, NO_ATTRIBUTES);
    try {
      if (blockSize == 0) {
        blockSize = (int) Files.getFileStore(file).getBlockSize();
      }
      return new ChannelFile(channel, blockSize);
    } catch (IOException | RuntimeException e) {
      channel.close();
      throw e;
    }
  }

  @Override
  public FileStatus status(Path path) throws IOException {
    Map<String, Object> a = Files.readAttributes(path, STATUS, LinkOption.NOFOLLOW_LINKS);
    return new FileStatus(
        number(a, "dev"),
        number(a, "ino"),
        number(a, "size"),
        ((FileTime) value(a, "ctime")).to(TimeUnit.NANOSECONDS),
        (int) number(a, "mode") & 07777,
        (int) number(a, "uid"));
  }

  @Override
  public FileStatus freshStatus(Path file) throws IOException {
    return isLocal(file) ? status(file) : StoreFs.super.freshStatus(file);
  }

  @Override
  public boolean isLocal(Path file) throws IOException {
    return LOCAL_TYPES.contains(type(file));
  }

  @Override
  public boolean readsReachServer(Path file) throws IOException {
    String itsType = type(file);
    return !itsType.startsWith("fuse") && !itsType.equals("virtiofs"); // the same client
  }

  private String type(Path file) throws IOException {
    String known = type;
    if (known == null) {
      known = Mounts.type(file);
      type = known;
    }
    return known;
  }

  private static Object value(Map<String, Object> attributes, String name) {
    Object value = attributes.get(name);
    if (value == null) {
      throw new IllegalStateException("the filesystem has no unix:" + name);
    }
    return value;
  }

  private static long number(Map<String, Object> attributes, String name) {
    return ((Number) value(attributes, name)).longValue();
  }

  @Override
  public List<String> list(Path directory) throws IOException {
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
      return names(entries);
    } catch (DirectoryIteratorException e) {
      throw e.getCause();
    }
  }

  /**
   * Each once. Where positions in a directory are not stable while it changes, a network filesystem
   * may list an entry a second time; two of one bucket would be read twice, or spoil a record.
   */
  static List<String> names(Iterable<Path> entries) {
    var names = new LinkedHashSet<String>();
    for (Path entry : entries) {
      names.add(entry.getFileName().toString());
    }
    return new ArrayList<>(names);
  }

  @Override
  public void link(Path existing, Path name) throws IOException {
    Files.createLink(name, existing);
  }

  @Override
  public void chmod(Path path, int mode) throws IOException {
    Files.setAttribute(path, "unix:mode", mode);
  }

  @Override
  public void unlink(Path file) throws IOException {
    Files.delete(file);
  }

  @Override
  public void forceDirectory(Path directory) throws IOException {
    if (!Files.readAttributes(directory, BasicFileAttributes.class).isDirectory()) {
      throw new NotDirectoryException(directory.toString());
    }
    try (FileChannel channel = FileChannel.open(directory, READ, NO_ATTRIBUTES)) {
      channel.force(true);
    }
  }
}
