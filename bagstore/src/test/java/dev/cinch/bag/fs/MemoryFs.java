package dev.cinch.bag.fs;

import dev.cinch.lease.time.TimeSource;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;

/**
 * A filesystem in memory that enforces modes. Each process has a {@link #view} as some user, all of
 * one group; user 0 may do everything. An open handle goes on working after a chmod or a removal,
 * inode numbers are used again, and what was not forced is lost in a {@link #powerCut}.
 * Thread-safe.
 */
public final class MemoryFs {
  private static final int UMASKED = 0644;

  private final TimeSource clock;
  private final Deque<Long> freeInodes = new ArrayDeque<>();
  private long nextInode = 2;
  private long space = Long.MAX_VALUE;
  private MemoryNode root = new MemoryNode(1, true, 0, 0777, 0);

  /**
   * @param clock of the server: change times are read from it
   */
  public MemoryFs(TimeSource clock) {
    this.clock = clock;
  }

  /** The filesystem as a process of this user sees it. */
  public StoreFs view(int uid) {
    return view(uid, () -> {});
  }

  /**
   * @param between run after a file or directory was made and before it gets its mode
   */
  public StoreFs view(int uid, Runnable between) {
    return new View(uid, between);
  }

  /** From now on so many bytes can be written until the disk is full. */
  public synchronized void setSpace(long bytes) {
    space = bytes;
  }

  /** Makes everything durable, as after a long while. */
  public synchronized void forceAll() {
    root.forceAll();
  }

  /** Cuts a file short, as a server that lost power might, however durable it was. */
  public synchronized void truncate(Path file, int length) throws IOException {
    MemoryNode node = ((View) view(0)).node(file);
    node.length = Math.min(node.length, length);
  }

  /** Puts bytes into a file, however durable it was. */
  public synchronized void put(Path file, int at, byte[] bytes) throws IOException {
    MemoryNode node = ((View) view(0)).node(file);
    node.write(at, bytes, bytes.length);
  }

  /** What a file holds. */
  public synchronized byte[] content(Path file) throws IOException {
    MemoryNode node = ((View) view(0)).node(file);
    return Arrays.copyOf(node.bytes, node.length);
  }

  /** Loses everything that was not forced. */
  public void powerCut() {
    powerCut(() -> false);
  }

  /**
   * Loses what was not forced, or not.
   *
   * @param survives asked about every change of a directory and every piece of a file
   */
  public synchronized void powerCut(BooleanSupplier survives) {
    cut(root, survives);
  }

  private static void cut(MemoryNode node, BooleanSupplier survives) {
    if (!node.directory) {
      int keep = Math.min(node.forcedBytes.length, node.length);
      // An overwritten prefix that was not forced goes back; appended pieces go from the end.
      if (!survives.getAsBoolean()) {
        System.arraycopy(node.forcedBytes, 0, node.bytes, 0, keep);
      }
      while (keep < node.length && survives.getAsBoolean()) {
        keep = Math.min(node.length, keep + Math.max(1, (node.length - keep) / 2));
      }
      node.length = keep;
      node.force();
      return;
    }
    var names = new TreeSet<String>(node.entries.keySet());
    names.addAll(node.forcedEntries.keySet());
    var left = new TreeMap<String, MemoryNode>();
    for (String name : names) {
      MemoryNode now = node.entries.get(name);
      MemoryNode forced = node.forcedEntries.get(name);
      MemoryNode kept = now == forced || survives.getAsBoolean() ? now : forced;
      if (kept != null) {
        left.put(name, kept);
        cut(kept, survives);
      }
    }
    node.entries = left;
    node.force();
  }

  private final class View implements StoreFs {
    private final int uid;
    private final Runnable between;

    View(int uid, Runnable between) {
      this.uid = uid;
      this.between = between;
    }

    private MemoryNode node(Path path) throws IOException {
      MemoryNode at = root;
      for (Path name : path) {
        if (!at.directory) {
          throw new NotDirectoryException(path.toString());
        }
        permit(at, 1, path);
        MemoryNode next = at.entries.get(name.toString());
        if (next == null) {
          throw new NoSuchFileException(path.toString());
        }
        at = next;
      }
      return at;
    }

    private MemoryNode parent(Path path) throws IOException {
      Path parent = path.getParent();
      MemoryNode node = parent == null ? root : node(parent);
      if (!node.directory) {
        throw new NotDirectoryException(path.toString());
      }
      permit(node, 1, path);
      return node;
    }

    private void permit(MemoryNode node, int wanted, Path path) throws IOException {
      int granted = node.uid == uid ? node.mode >> 6 : node.mode >> 3;
      if (uid != 0 && (granted & wanted) != wanted) {
        throw new AccessDeniedException(path.toString());
      }
    }

    private MemoryNode make(Path path, boolean directory) throws IOException {
      MemoryNode parent = parent(path);
      String name = path.getFileName().toString();
      if (parent.entries.containsKey(name)) {
        throw new FileAlreadyExistsException(path.toString());
      }
      permit(parent, 2, path);
      Long again = freeInodes.pollLast();
      long now = clock.wallNanos();
      long inode = again == null ? nextInode++ : again;
      var made = new MemoryNode(inode, directory, uid, directory ? 0755 : UMASKED, now);
      parent.entries.put(name, made);
      parent.changeTime = now;
      return made;
    }

    @Override
    public void mkdir(Path directory, int mode) throws IOException {
      synchronized (MemoryFs.this) {
        make(directory, true);
      }
      between.run();
      chmod(directory, mode);
    }

    @Override
    public void rmdir(Path directory) throws IOException {
      synchronized (MemoryFs.this) {
        MemoryNode node = node(directory);
        if (!node.directory) {
          throw new NotDirectoryException(directory.toString());
        }
        if (!node.entries.isEmpty()) {
          throw new DirectoryNotEmptyException(directory.toString());
        }
        remove(directory, node);
      }
    }

    private void remove(Path path, MemoryNode node) throws IOException {
      MemoryNode parent = parent(path);
      permit(parent, 2, path);
      parent.entries.remove(path.getFileName().toString());
      parent.changeTime = clock.wallNanos();
      node.changeTime = clock.wallNanos();
      if (--node.links == 0) {
        freeInodes.addLast(node.inode);
      }
    }

    @Override
    public StoreFile create(Path file, int mode) throws IOException {
      MemoryNode made;
      synchronized (MemoryFs.this) {
        made = make(file, false);
      }
      between.run();
      synchronized (MemoryFs.this) {
        made.mode = mode;
        made.changeTime = clock.wallNanos();
      }
      return new Handle(made, file, true, true);
    }

    private StoreFile open(Path file, int wanted) throws IOException {
      synchronized (MemoryFs.this) {
        MemoryNode node = node(file);
        permit(node, wanted, file);
        if (node.directory) {
          throw new FileSystemException(file.toString(), null, "Is a directory");
        }
        return new Handle(node, file, wanted == 2, false);
      }
    }

    @Override
    public StoreFile overwrite(Path file) throws IOException {
      return open(file, 2);
    }

    @Override
    public StoreFile read(Path file) throws IOException {
      return open(file, 4);
    }

    @Override
    public StoreFile readUncached(Path file) throws IOException {
      return read(file);
    }

    @Override
    public StoreFile readShared(Path file) throws IOException {
      overwrite(file).close(); // who may not write is refused, as by a shared filesystem
      return readUncached(file);
    }

    @Override
    public boolean isLocal(Path file) {
      return true;
    }

    @Override
    public FileStatus status(Path path) throws IOException {
      synchronized (MemoryFs.this) {
        MemoryNode n = node(path);
        return new FileStatus(1, n.inode, n.length, n.changeTime, n.mode, n.uid);
      }
    }

    @Override
    public List<String> list(Path directory) throws IOException {
      synchronized (MemoryFs.this) {
        MemoryNode node = node(directory);
        if (!node.directory) {
          throw new NotDirectoryException(directory.toString());
        }
        permit(node, 4, directory);
        return new ArrayList<>(node.entries.keySet());
      }
    }

    @Override
    public void link(Path existing, Path name) throws IOException {
      synchronized (MemoryFs.this) {
        MemoryNode node = node(existing);
        MemoryNode parent = parent(name);
        if (parent.entries.containsKey(name.getFileName().toString())) {
          throw new FileAlreadyExistsException(name.toString());
        }
        permit(parent, 2, name);
        parent.entries.put(name.getFileName().toString(), node);
        parent.changeTime = clock.wallNanos();
        node.changeTime = clock.wallNanos();
        node.links++;
      }
    }

    @Override
    public void chmod(Path path, int mode) throws IOException {
      synchronized (MemoryFs.this) {
        MemoryNode node = node(path);
        if (uid != 0 && node.uid != uid) {
          throw new FileSystemException(path.toString(), null, "Operation not permitted");
        }
        node.mode = mode;
        node.changeTime = clock.wallNanos();
      }
    }

    @Override
    public void unlink(Path file) throws IOException {
      synchronized (MemoryFs.this) {
        MemoryNode node = node(file);
        if (node.directory) {
          throw new FileSystemException(file.toString(), null, "Is a directory");
        }
        remove(file, node);
      }
    }

    @Override
    public void forceDirectory(Path directory) throws IOException {
      synchronized (MemoryFs.this) {
        MemoryNode node = node(directory);
        if (!node.directory) {
          throw new NotDirectoryException(directory.toString());
        }
        permit(node, 4, directory);
        node.force();
      }
    }
  }

  private final class Handle implements StoreFile {
    private final MemoryNode node;
    private final Path path;
    private final boolean writable;
    private final boolean append;
    private int position;

    Handle(MemoryNode node, Path path, boolean writable, boolean append) {
      this.node = node;
      this.path = path;
      this.writable = writable;
      this.append = append;
    }

    @Override
    public void write(ByteBuffer... buffers) throws IOException {
      synchronized (MemoryFs.this) {
        if (!writable) {
          throw new IllegalStateException("not open for writing: " + path);
        }
        for (ByteBuffer b : buffers) {
          int count = (int) Math.min(b.remaining(), space);
          var bytes = new byte[count];
          b.get(bytes);
          int at = append ? node.length : position;
          node.write(at, bytes, count);
          position = at + count;
          node.changeTime = clock.wallNanos();
          space -= count;
          if (b.hasRemaining()) {
            throw new FileSystemException(path.toString(), null, "No space left on device");
          }
        }
      }
    }

    @Override
    public void force() {
      synchronized (MemoryFs.this) {
        node.force();
      }
    }

    @Override
    public int read(ByteBuffer into, long offset) {
      synchronized (MemoryFs.this) {
        int count = (int) Math.max(0, Math.min(into.remaining(), node.length - offset));
        into.put(node.bytes, (int) Math.min(offset, node.length), count);
        return count;
      }
    }

    @Override
    public long size() {
      synchronized (MemoryFs.this) {
        return node.length;
      }
    }

    @Override
    public void close() {}
  }
}
