package dev.cinch.bag.fs;

import com.sun.nio.file.ExtendedOpenOption;
import dev.cinch.bag.format.ForeignEntryException;
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
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The real thing: any POSIX filesystem that {@code java.nio.file} reaches. Thread-safe.
 *
 * <p>Modes and group are set right after creating, because Java can neither set the umask nor pass
 * the setgid bit (rule C6).
 *
 * <p>Below the store's root no operation follows a link, and nothing is opened but what a look says
 * is a regular file (rule N7). What changes or removes is done in the directory itself, held open
 * ({@link HeldParent}); for what only reads, and for {@link #mkdir} and {@link #link}, the looks of
 * {@link LinkGuard} must do.
 */
public final class PosixFs implements StoreFs {
  private static final Set<OpenOption> CREATE =
      Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE, StandardOpenOption.APPEND);

  /** For reading too: to open a pipe that somebody puts there for writing alone would block. */
  private static final Set<OpenOption> OVERWRITE =
      Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);

  private static final Set<OpenOption> READ =
      Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS);
  private static final Set<OpenOption> READ_DIRECTORY = Set.of(StandardOpenOption.READ);
  private static final Set<OpenOption> SHARED = OVERWRITE;
  private static final Set<OpenOption> READ_DIRECT =
      Set.of(StandardOpenOption.READ, ExtendedOpenOption.DIRECT, LinkOption.NOFOLLOW_LINKS);

  /**
   * For writing too: servers up to Linux 6.1 give a client that only reads a delegation, and who
   * sets a prelock then has to wait until they have it back.
   */
  private static final Set<OpenOption> SHARED_DIRECT =
      Set.of(
          StandardOpenOption.READ,
          StandardOpenOption.WRITE,
          ExtendedOpenOption.DIRECT,
          LinkOption.NOFOLLOW_LINKS);

  private static final FileAttribute<?>[] NO_ATTRIBUTES = {};

  /** EINVAL, which is how an open says so, in the language of this process. */
  private static final String NOT_SUPPORTED = notSupported();

  private static final String STATUS = "unix:dev,ino,size,ctime,mode,uid";

  private static final int PERMISSIONS = 0777;
  private static final int TYPE = 0170000;
  private static final int REGULAR = 0100000;
  private static final int DIRECTORY = 0040000;

  /**
   * Filesystems of one kernel: attributes by path never come from a cache that another machine
   * could make stale.
   */
  private static final Set<String> LOCAL_TYPES =
      Set.of("ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "zfs");

  private final @Nullable Path root;
  private final @Nullable String group;
  private final LinkGuard guard;

  /** Of the filesystem of the first file asked about; an instance serves one store. */
  private volatile @Nullable String type;

  /** Of the store's filesystem, which direct reads must respect; 0: not asked for yet. */
  private volatile int blockSize;

  /**
   * @param root of the store, below which no link is followed (rule N7); it may be a link itself,
   *     or stand behind one. Null: not known yet, so that only the last component of a path is
   *     looked at; {@link #forStore} says it
   * @param group name of the group that everything created gets; null: whatever the filesystem
   *     gives (setgid directories)
   */
  public PosixFs(@Nullable Path root, @Nullable String group) {
    this.root = root;
    this.group = group;
    this.guard = new LinkGuard(root);
  }

  @Override
  public StoreFs forStore(Path store, Optional<String> owners) {
    return new PosixFs(store, owners.orElse(null));
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
    guard.parents(directory);
    Files.createDirectory(directory, mode(mode));
    own(directory, owners, mode);
  }

  @Override
  public void rmdir(Path directory) throws IOException {
    guard.parents(directory);
    try (HeldParent parent = HeldParent.of(directory, guard)) {
      parent.rmdir();
    }
  }

  @Override
  public StoreFile create(Path file, int mode) throws IOException {
    @Nullable GroupPrincipal owners = owners(file);
    guard.parents(file);
    try (HeldParent parent = HeldParent.of(file, guard)) {
      FileChannel channel = parent.open(CREATE, mode(mode));
      try {
        parent.own(owners, mode);
      } catch (IOException | RuntimeException e) {
        channel.close();
        throw e;
      }
      return new ChannelFile(channel, 1, file);
    }
  }

  private static FileAttribute<?> mode(int mode) {
    return PosixFilePermissions.asFileAttribute(HeldParent.permissions(mode));
  }

  /** Looked up before anything is made: a machine without that group would leave it behind. */
  private @Nullable GroupPrincipal owners(Path path) throws IOException {
    return group == null
        ? null
        : path.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByGroupName(group);
  }

  /** Of a directory that was just made. */
  private static void own(Path directory, @Nullable GroupPrincipal owners, int mode)
      throws IOException {
    if (owners != null) {
      PosixFileAttributeView view =
          Files.getFileAttributeView(
              directory, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS);
      if (!view.readAttributes().group().equals(owners)) {
        view.setGroup(owners);
      }
    }
    Object now = Files.getAttribute(directory, "unix:mode", LinkOption.NOFOLLOW_LINKS);
    if (((Integer) now & 07777) != mode) { // after the group: chown clears setgid
      chmodEntry(directory, mode);
    }
  }

  /**
   * By its path, since only so setgid can be set. A link that somebody puts there is not followed;
   * one on the way could only lead to a directory of the very same name.
   */
  private static void chmodEntry(Path path, int mode) throws IOException {
    Files.setAttribute(path, "unix:mode", mode, LinkOption.NOFOLLOW_LINKS);
  }

  @Override
  public StoreFile overwrite(Path file) throws IOException {
    guard.changeable(file);
    try (HeldParent parent = HeldParent.of(file, guard)) {
      return new ChannelFile(parent.open(OVERWRITE), 1, file);
    }
  }

  @Override
  public StoreFile read(Path file) throws IOException {
    guard.file(file);
    return new ChannelFile(open(file, READ), 1, file);
  }

  private static FileChannel open(Path file, Set<OpenOption> options) throws IOException {
    try {
      return FileChannel.open(file, options, NO_ATTRIBUTES);
    } catch (IOException e) {
      throw HeldParent.named(e, file);
    }
  }

  @Override
  public StoreFile readUncached(Path file) throws IOException {
    guard.file(file);
    return direct(file, READ_DIRECT, READ);
  }

  @Override
  public StoreFile readShared(Path file) throws IOException {
    guard.file(file);
    return direct(file, SHARED_DIRECT, SHARED);
  }

  /**
   * Whether reads of a file go past the cache; where not, {@link #readShared} and {@link
   * #readUncached} go through it.
   *
   * @param file that this user may read and write
   */
  public boolean hasDirectReads(Path file) throws IOException {
    guard.file(file);
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
    return new ChannelFile(open(file, otherwise), 1, file);
  }

  private StoreFile direct(Path file, Set<OpenOption> options) throws IOException {
    FileChannel channel = open(file, options);
    try {
      if (blockSize == 0) {
        blockSize = (int) Files.getFileStore(file).getBlockSize();
      }
      return new ChannelFile(channel, blockSize, file);
    } catch (IOException | RuntimeException e) {
      channel.close();
      throw e;
    }
  }

  @Override
  public FileStatus status(Path path) throws IOException {
    guard.parents(path);
    return status(attributes(path));
  }

  private static FileStatus status(Map<String, Object> a) {
    return new FileStatus(
        number(a, "dev"),
        number(a, "ino"),
        number(a, "size"),
        ((FileTime) value(a, "ctime")).to(TimeUnit.NANOSECONDS),
        (int) number(a, "mode") & 07777,
        (int) number(a, "uid"));
  }

  private static Map<String, Object> attributes(Path path) throws IOException {
    return Files.readAttributes(path, STATUS, LinkOption.NOFOLLOW_LINKS);
  }

  @Override
  public FileStatus freshStatus(Path file) throws IOException {
    if (!isLocal(file)) {
      return StoreFs.super.freshStatus(file);
    }
    guard.parents(file);
    Map<String, Object> a = attributes(file);
    if (type(a) != REGULAR) {
      guard.file(file); // says what it is
    }
    return status(a);
  }

  private static int type(Map<String, Object> attributes) {
    return (int) number(attributes, "mode") & TYPE;
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
      Path store = root; // not the file: somebody may have put it there, from elsewhere
      known = Mount.of(store == null ? file : store).type();
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
    guard.directory(directory);
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
    guard.file(existing);
    guard.parents(name);
    Files.createLink(name, existing);
  }

  /**
   * @throws ForeignEntryException also for a file with more names than one: its mode is theirs too
   */
  @Override
  public void chmod(Path path, int mode) throws IOException {
    guard.parents(path);
    if (type(attributes(path)) == DIRECTORY) {
      chmodEntry(path, mode);
      return;
    }
    guard.changeable(path);
    if ((mode & ~PERMISSIONS) != 0) {
      chmodEntry(path, mode);
      return;
    }
    try (HeldParent parent = HeldParent.of(path, guard)) {
      parent.chmod(mode);
    }
  }

  @Override
  public void unlink(Path file) throws IOException {
    guard.file(file);
    try (HeldParent parent = HeldParent.of(file, guard)) {
      parent.unlink();
    }
  }

  @Override
  public void forceDirectory(Path directory) throws IOException {
    guard.directory(directory);
    if (!Files.readAttributes(directory, BasicFileAttributes.class).isDirectory()) {
      throw new NotDirectoryException(directory.toString());
    }
    boolean below = guard.isBelow(directory);
    try (FileChannel channel =
        FileChannel.open(directory, below ? READ : READ_DIRECTORY, NO_ATTRIBUTES)) {
      channel.force(true);
    }
  }
}
