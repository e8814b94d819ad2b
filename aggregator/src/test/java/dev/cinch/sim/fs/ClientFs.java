package dev.cinch.sim.fs;

import dev.cinch.bag.fs.FileStatus;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.sim.fs.ClientCache.Attributes;
import dev.cinch.sim.fs.ClientCache.FileStatusOf;
import dev.cinch.sim.fs.ClientCache.Listing;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The filesystem as one process sees it through the caches of its machine.
 *
 * <p>Opening asks the server for attributes. Attributes by path and "there is no such name" may
 * come from a cache for a minute. A listing comes from the cache as long as the directory's coarse
 * change time is the same and this client did not change it itself. Making and removing names
 * always asks the server.
 */
public final class ClientFs implements StoreFs {
  private final ServerTree server;
  private final ClientCache cache;
  private final Faults faults;
  private final Gate gate;
  private final int user;
  private final Later later;
  private final boolean attributesCached;
  private final boolean listingsCached;

  /** Has something happen at a later time. */
  public interface Later {
    void in(long nanos, Runnable what);
  }

  /**
   * @param cache of its machine
   * @param user 0 may do everything
   */
  public ClientFs(
      ServerTree server, ClientCache cache, Faults faults, Gate gate, int user, Later later) {
    this.server = server;
    this.cache = cache;
    this.faults = faults;
    this.gate = gate;
    this.user = user;
    this.later = later;
    boolean cached = server.kind() != FsKind.LOCAL;
    this.attributesCached = cached && faults.has(FaultKind.ATTRIBUTES_CACHED);
    this.listingsCached = cached && faults.has(FaultKind.LISTINGS_CACHED);
  }

  private interface Effect<T> {
    T run() throws IOException;
  }

  private <T> T call(Op op, Path path, Effect<T> effect) throws IOException {
    gate.enter(op, path);
    try {
      boolean meta = op.isMeta();
      boolean fails = meta ? metaFails(op, path) : readFails(op);
      if (fails && (!meta || faults.rng().oneIn(2))) {
        throw inputOutput(path, "Input/output error");
      }
      T result = effect.run();
      gate.leave(op, path);
      if (fails) {
        throw inputOutput(path, "Input/output error");
      }
      if (op.changesNames() && faults.strike(FaultKind.REPLY_LOST)) {
        if (result instanceof ClientFile f) {
          f.abandon();
        }
        throw op == Op.UNLINK || op == Op.RMDIR
            ? new NoSuchFileException(path.toString())
            : new FileAlreadyExistsException(path.toString());
      }
      return result;
    } catch (IOException e) {
      if (e instanceof FileAlreadyExistsException) {
        cache.forget(path); // the kernel drops what it believed of a name that it could not make
      }
      gate.failed(op, path, e);
      throw e;
    }
  }

  private boolean metaFails(Op op, Path path) {
    return faults.strike(FaultKind.META_ERROR) || faults.failsInAmbush(op, path);
  }

  private boolean readFails(Op op) {
    return op.reads() && faults.strike(FaultKind.READ_ERROR);
  }

  static FileSystemException inputOutput(Path path, String reason) {
    return new FileSystemException(path.toString(), null, reason);
  }

  private void changed(Path path) {
    cache.forget(path);
    cache.changed(path.getParent());
  }

  private void setMode(Path path, int mode) throws IOException {
    call(
        Op.MODE,
        path,
        () -> {
          server.chmod(path, mode, user);
          remember(path, server.get(path));
          return true;
        });
  }

  @Override
  public void mkdir(Path directory, int mode) throws IOException {
    call(
        Op.MKDIR,
        directory,
        () -> {
          server.make(directory, true, user);
          changed(directory);
          return true;
        });
    setMode(directory, mode);
  }

  @Override
  public void rmdir(Path directory) throws IOException {
    call(
        Op.RMDIR,
        directory,
        () -> {
          server.remove(directory, true, user);
          changed(directory);
          return true;
        });
  }

  @Override
  public StoreFile create(Path file, int mode) throws IOException {
    ClientFile made =
        call(
            Op.CREATE,
            file,
            () -> {
              ServerNode node = server.make(file, false, user);
              changed(file);
              return open(file, node, true, true);
            });
    try {
      setMode(file, mode);
    } catch (IOException e) {
      made.close();
      throw e;
    }
    return made;
  }

  private ClientFile open(Path file, ServerNode node, boolean writes, boolean appends) {
    cache.revalidated(node);
    remember(file, node);
    return new ClientFile(
        server, cache, faults, gate, user, later, file, node, writes, appends, false);
  }

  private ClientFile open(Op op, Path file, int wanted) throws IOException {
    return call(
        op,
        file,
        () -> {
          ServerNode node = lookup(file);
          if (node.directory()) {
            throw inputOutput(file, "Is a directory");
          }
          if (!node.permits(user, wanted)) {
            throw new AccessDeniedException(file.toString());
          }
          return open(file, node, wanted == 2, op == Op.OPEN_APPEND);
        });
  }

  /** The server's node, unless a negative entry says that there is none. */
  private ServerNode lookup(Path file) throws IOException {
    if (attributesCached) {
      Attributes known = cache.attributes(file);
      if (known != null && known.of() == null && isValidNegative(known, file)) {
        throw new NoSuchFileException(file.toString());
      }
    }
    ServerNode node = server.find(file);
    if (node == null) {
      forgetOrDeny(file);
      throw new NoSuchFileException(file.toString());
    }
    return node;
  }

  private boolean isValidNegative(Attributes a, Path file) {
    Path parent = file.getParent();
    return parent != null
        && gate.now() < a.expires()
        && cache.listing(parent).generation == a.generation();
  }

  private void forgetOrDeny(Path file) {
    Path parent = file.getParent();
    if (attributesCached && parent != null) {
      long generation = cache.listing(parent).generation;
      cache.put(file, new Attributes(null, gate.now() + ClientCache.EXPIRY_NANOS, generation));
    }
  }

  private FileStatus remember(Path path, ServerNode node) {
    int size = Math.max(node.bytes.length, cache.dirtyEnd(node));
    var status = new FileStatus(1, node.inode, size, node.changeTime, node.mode, node.uid);
    if (attributesCached) {
      cache.put(
          path,
          new Attributes(new FileStatusOf(node, status), gate.now() + ClientCache.EXPIRY_NANOS, 0));
    }
    return status;
  }

  @Override
  public StoreFile append(Path file) throws IOException {
    return open(Op.OPEN_APPEND, file, 2);
  }

  @Override
  public StoreFile overwrite(Path file) throws IOException {
    return open(Op.OPEN_OVERWRITE, file, 2);
  }

  @Override
  public StoreFile read(Path file) throws IOException {
    return open(Op.OPEN_READ, file, 4);
  }

  @Override
  public StoreFile readUncached(Path file) throws IOException {
    ClientFile opened = open(Op.OPEN_UNCACHED, file, 4);
    return opened.uncached();
  }

  @Override
  public FileStatus status(Path path) throws IOException {
    return call(
        Op.STATUS,
        path,
        () -> {
          Attributes known = attributesCached ? cache.attributes(path) : null;
          if (known != null && known.of() != null && gate.now() < known.expires()) {
            return known.of().status();
          }
          return remember(path, lookup(path));
        });
  }

  @Override
  public List<String> list(Path directory) throws IOException {
    return call(
        Op.LIST,
        directory,
        () -> {
          ServerNode node = lookup(directory);
          if (!node.directory()) {
            throw new NotDirectoryException(directory.toString());
          }
          if (!node.permits(user, 4)) {
            throw new AccessDeniedException(directory.toString());
          }
          if (!listingsCached) {
            cache.changed(directory);
            return new ArrayList<>(node.children().keySet());
          }
          Listing known = cache.listing(directory);
          List<String> names = known.names;
          if (names == null || known.node != node || known.changeTime != node.changeTime) {
            names = new ArrayList<>(node.children().keySet());
            known.names = names;
            known.node = node;
            known.changeTime = node.changeTime;
            known.generation++;
          }
          return new ArrayList<>(names);
        });
  }

  @Override
  public void link(Path existing, Path name) throws IOException {
    call(
        Op.LINK,
        name,
        () -> {
          server.link(existing, name, user);
          changed(name);
          cache.forget(existing);
          return true;
        });
  }

  @Override
  public void chmod(Path path, int mode) throws IOException {
    call(
        Op.CHMOD,
        path,
        () -> {
          server.chmod(path, mode, user);
          cache.forget(path);
          return true;
        });
  }

  @Override
  public void unlink(Path file) throws IOException {
    call(
        Op.UNLINK,
        file,
        () -> {
          server.remove(file, false, user);
          changed(file);
          return true;
        });
  }

  @Override
  public void forceDirectory(Path directory) throws IOException {
    call(
        Op.FORCE_DIRECTORY,
        directory,
        () -> {
          ServerNode node = lookup(directory);
          if (!node.directory()) {
            throw new NotDirectoryException(directory.toString());
          }
          server.force(directory);
          return true;
        });
  }
}
