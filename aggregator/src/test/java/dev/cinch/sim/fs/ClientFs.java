package dev.cinch.sim.fs;

import dev.cinch.bag.fs.FileStatus;
import dev.cinch.bag.fs.StoreFile;
import dev.cinch.bag.fs.StoreFs;
import dev.cinch.lease.sim.Rng;
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
import org.jspecify.annotations.Nullable;

/**
 * The filesystem as one process sees it through the caches of its machine.
 *
 * <p>Opening asks the server for attributes. Attributes by path and "there is no such name" may
 * come from a cache for a minute; where directories are delegated, "no such name" does until the
 * directory was listed or changed (seen with Linux 7.3). A listing comes from the cache as long as
 * the directory's coarse change time is the same, or is not asked for since there is a delegation,
 * and this client did not change it itself. Making and removing names always asks the server.
 */
public final class ClientFs implements StoreFs {
  private static final String SILLY = ".nfs";
  private static final String TIMED_OUT = "Connection timed out";

  private final ServerTree server;
  private final ClientCache cache;
  private final Faults faults;
  private final Gate gate;
  private final Recaller recaller;
  private final int user;
  private final Later later;
  private final boolean attributesCached;
  private final boolean listingsCached;
  private final boolean delegates;
  private final boolean delegatesDirectories;

  /** A name whose removal will be given up, too. */
  private @Nullable Path givenUp;

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
    this.recaller = new Recaller(server, faults);
    this.user = user;
    this.later = later;
    boolean cached = server.kind() != FsKind.LOCAL;
    this.attributesCached = cached && faults.has(FaultKind.ATTRIBUTES_CACHED);
    this.listingsCached = cached && faults.has(FaultKind.LISTINGS_CACHED);
    this.delegates = server.kind() == FsKind.NFS && faults.has(FaultKind.DELEGATIONS);
    this.delegatesDirectories =
        delegates && listingsCached && faults.has(FaultKind.DIRECTORY_DELEGATIONS);
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
      walk(path);
      if (op.makes() && faults.isFull(path, gate.now())) {
        throw noSpace(path, faults.rng());
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

  static FileSystemException noSpace(Path path, Rng rng) {
    return inputOutput(path, rng.oneIn(2) ? "No space left on device" : "Disk quota exceeded");
  }

  static FileSystemException inputOutput(Path path, String reason) {
    return new FileSystemException(path.toString(), null, reason);
  }

  /** Nothing is found or made below a directory that this client believes to be missing. */
  private void walk(Path path) throws NoSuchFileException {
    for (Path missing : cache.missing()) {
      if (path.startsWith(missing) && !path.equals(missing)) {
        Attributes known = cache.attributes(missing);
        if (known != null && isValidNegative(known, missing)) {
          throw new NoSuchFileException(path.toString());
        }
      }
    }
  }

  /** On its way to the directory the client learns which one above is missing. */
  private ServerNode make(Path path, boolean directory) throws IOException {
    try {
      return server.make(path, directory, user);
    } catch (NoSuchFileException e) {
      Path parent = path.getParent();
      if (parent != null) {
        forgetOrDeny(parent);
      }
      throw e;
    }
  }

  private void changed(Path path) {
    recallParent(path);
    cache.heard();
    cache.forget(path);
    cache.changed(path.getParent());
  }

  private void setMode(Path path, int mode) throws IOException {
    call(
        Op.MODE,
        path,
        () -> {
          server.chmod(path, mode, user);
          cache.heard();
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
          make(directory, true);
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
          recallAll(directory);
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
              ServerNode node = make(file, false);
              changed(file);
              return open(file, node, true, true, false);
            });
    try {
      setMode(file, mode);
      delegate(file, made.node(), true);
    } catch (IOException e) {
      made.close();
      throw e;
    }
    return made;
  }

  private ClientFile open(
      Path file, ServerNode node, boolean writes, boolean appends, boolean uncached) {
    cache.revalidated(node);
    if (cache.delegation(node) == null) {
      remember(file, node);
    }
    return new ClientFile(
        server, cache, faults, gate, user, later, file, node, writes, appends, uncached);
  }

  private ClientFile open(Op op, Path file, int wanted) throws IOException {
    return call(
        op,
        file,
        () -> {
          boolean writes = wanted == 2;
          ServerNode known = delegates ? known(op, file) : null;
          ServerNode node = known != null ? known : lookup(file);
          if (node.directory()) {
            throw inputOutput(file, "Is a directory");
          }
          if (!node.permits(user, wanted)) {
            throw new AccessDeniedException(file.toString());
          }
          if (known == null && delegates) {
            recaller.recall(node, writes, cache);
          }
          ClientFile opened = open(file, node, writes, false, op == Op.OPEN_UNCACHED);
          if (known == null) {
            delegate(file, node, writes);
          }
          return opened;
        });
  }

  /** What it need not ask the server for; reads past the cache do. */
  private @Nullable ServerNode known(Op op, Path file) {
    Delegation d = held(file);
    if (d == null || op != Op.OPEN_READ && op != Op.OPEN_UNCACHED && !d.writes) {
      return null;
    }
    if (op == Op.OPEN_UNCACHED) {
      if (d.revoked) {
        cache.end(d);
      }
      return null;
    }
    return d.node;
  }

  /** Its delegation for a name; a revoked one too, until it must have heard of that. */
  private @Nullable Delegation held(Path file) {
    Delegation d = cache.delegation(file);
    if (d != null && d.revoked && faults.stopped()) {
      cache.end(d);
      return null;
    }
    return d;
  }

  /** The server may give one to who opened a file that nobody else has open, or writes to. */
  private void delegate(Path file, ServerNode node, boolean writes) {
    if (!delegates || faults.stopped() || faults.rng().oneIn(3)) {
      return;
    }
    for (ClientFile f : node.open) {
      if (!f.isOf(cache) && (writes || f.writes())) {
        return;
      }
    }
    Delegation before = cache.delegation(node);
    if (before == null || writes && !before.writes) {
      if (before != null) {
        cache.end(before);
        cache.revalidated(node);
      }
      faults.count(FaultKind.DELEGATIONS);
      cache.add(new Delegation(cache, node, file, writes, remember(file, node)));
    }
  }

  /** Others hear of it before this client is told that it has changed a directory. */
  private void recallParent(Path path) {
    if (delegatesDirectories) {
      recaller.recallParent(path, cache);
    }
  }

  /** The server may give one to who has just listed a directory. */
  private void delegateDirectory(Path directory, ServerNode node) {
    if (!faults.stopped() && cache.delegation(node) == null && faults.rng().oneIn(2)) {
      faults.count(FaultKind.DIRECTORY_DELEGATIONS);
      cache.add(new Delegation(cache, node, directory, false, remember(directory, node)));
    }
  }

  /** Its own is given back first by who changes more than the content of a file. */
  private void recallAll(Path path) {
    ServerNode node = delegates ? server.find(path) : null;
    if (node != null) {
      recaller.recall(node, true, cache);
      Delegation own = cache.delegation(node);
      if (own != null && !own.revoked) {
        recaller.giveBack(own);
      }
    }
  }

  /** The server's node, unless a negative entry says that there is none. */
  private ServerNode lookup(Path file) throws IOException {
    if (attributesCached) {
      Attributes known = cache.attributes(file);
      if (known != null && known.of() == null && isValidNegative(known, file)) {
        throw new NoSuchFileException(file.toString());
      }
    }
    cache.heard();
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
        && (gate.now() < a.expires() || delegatesDirectories || isUnchanged(parent, a))
        && cache.listing(parent).generation == a.generation();
  }

  /** A kernel that asks about the directory goes on believing while its coarse time is the same. */
  private boolean isUnchanged(Path directory, Attributes a) {
    ServerNode node = server.find(directory);
    return listingsCached
        && server.kind() == FsKind.NFS
        && node != null
        && node.changeTime == a.directoryChange();
  }

  private void forgetOrDeny(Path file) {
    Path missing = file;
    Path parent = file.getParent();
    while (parent != null && server.find(parent) == null) {
      missing = parent;
      parent = parent.getParent();
    }
    if (attributesCached && parent != null) {
      ServerNode in = server.find(parent);
      cache.put(
          missing,
          new Attributes(
              null,
              gate.now() + ClientCache.EXPIRY_NANOS,
              cache.listing(parent).generation,
              in == null ? 0 : in.changeTime));
    }
  }

  private FileStatus remember(Path path, ServerNode node) {
    int size = Math.max(node.bytes.length, cache.dirtyEnd(node));
    var status = new FileStatus(1, node.inode, size, node.changeTime, node.mode, node.uid);
    if (attributesCached) {
      cache.put(
          path,
          new Attributes(
              new FileStatusOf(node, status), gate.now() + ClientCache.EXPIRY_NANOS, 0, 0));
    }
    return status;
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
    return open(Op.OPEN_UNCACHED, file, 4);
  }

  @Override
  public StoreFile readShared(Path file) throws IOException {
    return open(Op.OPEN_UNCACHED, file, 6);
  }

  @Override
  public boolean isLocal(Path file) {
    return server.kind() == FsKind.LOCAL;
  }

  @Override
  public FileStatus status(Path path) throws IOException {
    return call(
        Op.STATUS,
        path,
        () -> {
          Delegation held = delegates ? held(path) : null;
          if (held != null) {
            FileStatus s = held.status;
            long size = cache.size(held.node);
            return new FileStatus(s.device(), s.inode(), size, s.changeTime(), s.mode(), s.uid());
          }
          Attributes known = attributesCached ? cache.attributes(path) : null;
          if (known != null && known.of() != null && gate.now() < known.expires()) {
            return known.of().status();
          }
          ServerNode node = lookup(path);
          recaller.recall(node, false, cache);
          return remember(path, node);
        });
  }

  @Override
  public List<String> list(Path directory) throws IOException {
    return call(
        Op.LIST,
        directory,
        () -> {
          if (delegatesDirectories && held(directory) != null) {
            List<String> believed = cache.listing(directory).names;
            if (believed != null) {
              return new ArrayList<>(believed);
            }
          }
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
          if (delegatesDirectories) {
            delegateDirectory(directory, node);
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
          recallAll(existing);
          if (server.kind() != FsKind.LOCAL && faults.strike(FaultKind.GIVEN_UP)) {
            giveUp(existing, name);
          }
          server.link(existing, name, user);
          changed(name);
          cache.forget(existing);
          return true;
        });
  }

  /** Tells of an error; the link is made once the server gets to it, if the file is there then. */
  private void giveUp(Path existing, Path name) throws IOException {
    ServerNode node = server.get(existing);
    givenUp = faults.rng().oneIn(2) ? existing : null;
    later.in(
        faults.rng().spread(1_000_000, 40_000_000_000L),
        () -> {
          try {
            recallParent(name);
            server.link(node, name, user);
          } catch (IOException e) {
            // Nobody waits for the answer.
          }
        });
    throw inputOutput(existing, TIMED_OUT);
  }

  @Override
  public void chmod(Path path, int mode) throws IOException {
    call(
        Op.CHMOD,
        path,
        () -> {
          recallAll(path);
          server.chmod(path, mode, user);
          cache.heard();
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
          if (file.equals(givenUp)) {
            givenUp = null;
            throw inputOutput(file, TIMED_OUT);
          }
          recallAll(file);
          ServerNode node = server.kind() == FsKind.NFS ? server.get(file) : null;
          if (node == null || node.open.stream().noneMatch(f -> f.isOf(cache))) {
            server.remove(file, false, user);
          } else if (file.equals(cache.aside(node))) {
            throw inputOutput(file, "Device or resource busy");
          } else if (cache.aside(node) != null) { // another link of it
            server.remove(file, false, user);
          } else { // it stays under another name until nobody here has it open
            Path aside = file.resolveSibling(SILLY + node.inode + "-" + server.boots());
            server.rename(file, aside, user);
            cache.layAside(node, aside);
          }
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
