package dev.cinch.bag.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Slots in a directory of a memory filesystem, which only one kernel sees and which ends with it.
 * Thread-safe.
 */
public final class PosixSlots implements LocalSlots {
  private static final Path BOOT = Path.of("/proc/sys/kernel/random/boot_id");

  private static final Path SELF = Path.of("/proc/self");

  /** Filesystems that survive neither a reboot nor a copy of the disk, and that nobody mounts. */
  private static final Set<String> MEMORY_TYPES = Set.of("tmpfs", "ramfs");

  private static final FileAttribute<?> PRIVATE_DIRECTORY =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
  private static final FileAttribute<?> PRIVATE_FILE =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
  private static final Set<OpenOption> OPEN =
      Set.of(
          StandardOpenOption.READ,
          StandardOpenOption.WRITE,
          StandardOpenOption.CREATE,
          LinkOption.NOFOLLOW_LINKS);
  private static final int MAX_STATE = 1 << 16;

  /**
   * Slots that this process holds. To open and close another descriptor of one would release its
   * lock, which belongs to the process and not to the descriptor.
   */
  private static final Set<Path> HELD = ConcurrentHashMap.newKeySet();

  /** Descriptors that must stay open, for the same reason: the same file by another path. */
  private static final Queue<FileChannel> LEFT_OPEN = new ConcurrentLinkedQueue<>();

  private final Path directory;
  private final String boot;

  private PosixSlots(Path directory, String boot) {
    this.directory = directory;
    this.boot = boot;
  }

  /**
   * Opens the directory, making it if there is none; its parent must exist.
   *
   * @throws IOException if it is not this user's alone or outlives the kernel; one line says why
   */
  public static PosixSlots open(Path directory) throws IOException {
    try {
      Files.createDirectory(directory, PRIVATE_DIRECTORY);
    } catch (FileAlreadyExistsException e) {
      // Looked at below, whoever made it.
    }
    Map<String, Object> a =
        Files.readAttributes(directory, "unix:uid,mode,isDirectory", LinkOption.NOFOLLOW_LINKS);
    Object me = Files.getAttribute(SELF, "unix:uid", LinkOption.NOFOLLOW_LINKS);
    if (!Boolean.TRUE.equals(a.get("isDirectory"))
        || !me.equals(a.get("uid"))
        || !(a.get("mode") instanceof Integer mode)
        || (mode & 0077) != 0) {
      throw new IOException(
          directory + " must be a directory of user " + me + " alone (mode 0700); name another");
    }
    String type = Mounts.type(directory);
    if (!MEMORY_TYPES.contains(type)) {
      throw new IOException(
          directory + " is on " + type + " and must be on tmpfs, which ends with the machine");
    }
    String boot = Files.readString(BOOT, StandardCharsets.US_ASCII).strip();
    return new PosixSlots(directory.toRealPath(), boot);
  }

  @Override
  public String boot() {
    return boot;
  }

  @Override
  public Optional<Slot> lock(String name) throws IOException {
    Path file = directory.resolve(name);
    if (!HELD.add(file)) {
      return Optional.empty();
    }
    FileChannel channel = null;
    Optional<Slot> slot = Optional.empty();
    try {
      channel = FileChannel.open(file, OPEN, PRIVATE_FILE);
      FileLock lock = channel.tryLock();
      if (lock != null) {
        slot = Optional.of(new Held(file, channel));
      }
    } catch (OverlappingFileLockException e) {
      LEFT_OPEN.add(channel);
      channel = null;
    } finally {
      if (slot.isEmpty()) {
        if (channel != null) {
          channel.close();
        }
        HELD.remove(file);
      }
    }
    return slot;
  }

  private record Held(Path path, FileChannel channel) implements Slot {
    @Override
    public byte[] read() throws IOException {
      var state = new byte[(int) Math.min(channel.size(), MAX_STATE)];
      ByteBuffer into = ByteBuffer.wrap(state);
      while (into.hasRemaining() && channel.read(into, into.position()) > 0) {
        // until all is there
      }
      return state;
    }

    @Override
    public void write(byte[] state) throws IOException {
      channel.truncate(0);
      ByteBuffer out = ByteBuffer.wrap(state);
      while (out.hasRemaining()) {
        channel.write(out, out.position());
      }
    }

    @Override
    public void close() throws IOException {
      try {
        channel.close();
      } finally {
        HELD.remove(path);
      }
    }
  }
}
