package dev.cinch.sim.fs;

import dev.cinch.lease.sim.Rng;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The truth: what the file server holds. Contents are durable when they are forced. So are names on
 * a local filesystem; on a network filesystem they are durable at once. There is no rename, so that
 * a map from paths is all the tree it needs.
 */
public final class ServerTree {
  private final Map<Path, ServerNode> nodes = new HashMap<>();
  private final ArrayDeque<Long> freeInodes = new ArrayDeque<>();
  private final Journal journal = new Journal();
  private final FsKind kind;
  private final int umask;
  private final long tickNanos;
  private final LongSupplier clock;
  private long nextInode = 2;
  private long boots;

  /**
   * @param umask of all processes
   * @param tickNanos the resolution of change times
   * @param clock the server's own, nanoseconds since the Unix epoch
   */
  public ServerTree(FsKind kind, int umask, long tickNanos, LongSupplier clock, Path root) {
    this.kind = kind;
    this.umask = umask;
    this.tickNanos = tickNanos;
    this.clock = clock;
    nodes.put(root, new ServerNode(1, true, 0, 02777, 0));
    Path above = root.getParent();
    if (above != null) {
      nodes.put(above, new ServerNode(0, true, 0, 0755, 0));
    }
  }

  private ServerTree(ServerTree other, FsKind kind, int umask, long tickNanos, LongSupplier clock) {
    this.kind = kind;
    this.umask = umask;
    this.tickNanos = tickNanos;
    this.clock = clock;
    this.nextInode = other.nextInode;
    this.freeInodes.addAll(other.freeInodes);
    var copies = new IdentityHashMap<ServerNode, ServerNode>();
    other.nodes.forEach((path, node) -> nodes.put(path, copy(node, copies)));
  }

  private static ServerNode copy(ServerNode from, Map<ServerNode, ServerNode> copies) {
    ServerNode known = copies.get(from);
    if (known != null) {
      return known;
    }
    var to = new ServerNode(from.inode, from.directory(), from.uid, from.mode, from.changeTime);
    copies.put(from, to);
    to.links = from.links;
    to.bytes = from.bytes;
    to.committed = from.committed;
    if (from.directory()) {
      from.children().forEach((name, child) -> to.children().put(name, copy(child, copies)));
    }
    return to;
  }

  /** A copy that goes its own way. */
  public ServerTree copy(FsKind itsKind, int itsUmask, long itsTick, LongSupplier itsClock) {
    return new ServerTree(this, itsKind, itsUmask, itsTick, itsClock);
  }

  FsKind kind() {
    return kind;
  }

  /** How often the server rebooted. */
  long boots() {
    return boots;
  }

  /** The server's time as change times show it. */
  long tick() {
    long now = clock.getAsLong();
    return now - Math.floorMod(now, tickNanos);
  }

  @Nullable ServerNode find(Path path) {
    return nodes.get(path);
  }

  ServerNode get(Path path) throws IOException {
    ServerNode node = nodes.get(path);
    if (node == null) {
      throw new NoSuchFileException(path.toString());
    }
    return node;
  }

  private ServerNode parent(Path path, int user) throws IOException {
    Path parent = path.getParent();
    ServerNode node = parent == null ? null : nodes.get(parent);
    if (node == null) {
      throw new NoSuchFileException(path.toString());
    }
    if (!node.directory()) {
      throw new NotDirectoryException(String.valueOf(parent));
    }
    if (!node.permits(user, 3)) {
      throw new AccessDeniedException(path.toString());
    }
    return node;
  }

  ServerNode make(Path path, boolean directory, int user) throws IOException {
    Path directoryPath = path.getParent();
    ServerNode in = directoryPath == null ? null : nodes.get(directoryPath);
    if (in != null && in.permits(user, 1) && nodes.containsKey(path)) {
      throw new FileAlreadyExistsException(path.toString());
    }
    ServerNode parent = parent(path, user);
    Long again = freeInodes.pollLast();
    long inode = again == null ? nextInode++ : again;
    int mode = (directory ? 0777 : 0666) & ~umask;
    long now = tick();
    var made = new ServerNode(inode, directory, user, mode, now);
    nodes.put(path, made);
    parent.children().put(String.valueOf(path.getFileName()), made);
    parent.changeTime = now;
    noteMade(path, made);
    return made;
  }

  void link(Path existing, Path name, int user) throws IOException {
    link(get(existing), name, user);
  }

  /** By its handle, as a request that waited for long. */
  void link(ServerNode node, Path name, int user) throws IOException {
    if (node.links == 0) {
      throw new FileSystemException(name.toString(), null, "Stale file handle");
    }
    if (nodes.containsKey(name)) {
      throw new FileAlreadyExistsException(name.toString());
    }
    ServerNode parent = parent(name, user);
    nodes.put(name, node);
    parent.children().put(String.valueOf(name.getFileName()), node);
    node.links++;
    node.changeTime = parent.changeTime = tick();
    noteMade(name, node);
  }

  private void noteMade(Path path, ServerNode node) {
    if (kind == FsKind.LOCAL) {
      journal.made(path, node);
    }
  }

  /** The names in a directory are durable. */
  void force(Path directory) {
    journal.forced(directory);
  }

  void remove(Path path, boolean directory, int user) throws IOException {
    ServerNode node = get(path);
    ServerNode parent = parent(path, user);
    if (directory != node.directory()) {
      throw directory
          ? new NotDirectoryException(path.toString())
          : new FileSystemException(path.toString(), null, "Is a directory");
    }
    if (directory && !node.children().isEmpty()) {
      throw new DirectoryNotEmptyException(path.toString());
    }
    nodes.remove(path);
    parent.children().remove(String.valueOf(path.getFileName()));
    node.changeTime = parent.changeTime = tick();
    if (--node.links == 0) {
      freeInodes.addLast(node.inode);
    }
    if (kind == FsKind.LOCAL) {
      journal.removed(path, node);
    }
  }

  /** Removes a name that another client may have removed meanwhile. */
  void removeIfThere(Path path, ServerNode node) {
    if (nodes.get(path) == node) {
      try {
        remove(path, false, 0);
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  /** What a client does that removes a file which one of its processes has open. */
  void rename(Path path, Path to, int user) throws IOException {
    ServerNode node = get(path);
    ServerNode parent = parent(path, user);
    nodes.remove(path);
    parent.children().remove(String.valueOf(path.getFileName()));
    nodes.put(to, node);
    parent.children().put(String.valueOf(to.getFileName()), node);
    node.changeTime = parent.changeTime = tick();
  }

  void chmod(Path path, int mode, int user) throws IOException {
    ServerNode node = get(path);
    if (user != 0 && node.uid != user) {
      throw new FileSystemException(path.toString(), null, "Operation not permitted");
    }
    node.mode = mode;
    node.changeTime = tick();
  }

  void write(ServerNode node, int offset, byte[] data) {
    node.put(offset, data);
    node.changeTime = tick();
  }

  /** Everything so far is durable, as after a long while. */
  public void commitAll() {
    nodes.values().forEach(node -> node.committed = node.bytes);
    nodes.keySet().forEach(journal::forced);
  }

  /** Loses names that were not forced, and contents: of each file all, or none. */
  public void reboot(Rng rng) {
    boots++;
    journal.lose(rng).forEach(this::undo);
    var files = nodes.values().stream().filter(n -> n.bytes != n.committed).toList();
    // By inode, since the order of a map of paths says nothing.
    files.stream()
        .sorted((a, b) -> Long.compare(a.inode, b.inode))
        .forEach(
            node -> {
              if (rng.oneIn(3)) {
                node.committed = node.bytes;
              } else {
                node.bytes = node.committed;
              }
            });
  }

  private void undo(Journal.Change change) {
    Path path = change.path();
    ServerNode node = change.node();
    ServerNode parent = nodes.get(path.getParent());
    ServerNode there = nodes.get(path);
    if (change.made() && there == node) {
      nodes.keySet().removeIf(p -> p.startsWith(path));
      node.links--;
      if (parent != null) {
        parent.children().remove(String.valueOf(path.getFileName()));
      }
    } else if (!change.made() && there == null && parent != null) {
      nodes.put(path, node);
      parent.children().put(String.valueOf(path.getFileName()), node);
      if (node.links++ == 0) {
        freeInodes.remove(node.inode);
      }
    }
  }

  /**
   * What an operator does about entries that a process left without their modes (rule C6): gives
   * the group access to everything that is not closed.
   */
  public void repairModes() {
    for (ServerNode node : nodes.values()) {
      if (node.directory() && (node.mode & 07777) == (0777 & ~umask)) {
        node.mode = 02775;
      } else if (!node.directory() && (node.mode & 0777) == (0666 & ~umask)) {
        node.mode = 0664;
      }
    }
  }

  /** Paths and sizes, for people. */
  public String describe() {
    var text = new StringBuilder();
    nodes.entrySet().stream()
        .sorted(Map.Entry.comparingByKey())
        .forEach(
            e ->
                text.append(e.getKey())
                    .append(e.getValue().directory() ? "/" : " " + e.getValue().bytes.length)
                    .append('\n'));
    return text.toString();
  }
}
