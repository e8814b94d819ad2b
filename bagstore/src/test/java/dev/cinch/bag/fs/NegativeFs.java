package dev.cinch.bag.fs;

import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A client that goes on saying "no such file" for a name that it once looked for in vain, until it
 * lists the directory or makes an entry of that name (rule N3). A coarse one, whose server's change
 * times don't tell it of changes within a tick, has old listings too, until the directory changes
 * once more.
 */
public final class NegativeFs extends FilterFs {
  private final Set<Path> missing = ConcurrentHashMap.newKeySet();

  private final boolean coarse;

  public NegativeFs(StoreFs inner) {
    this(inner, false);
  }

  public NegativeFs(StoreFs inner, boolean coarse) {
    super(inner);
    this.coarse = coarse;
  }

  @Override
  public boolean isLocal(Path file) {
    return false;
  }

  /** Lets it believe that a name is missing. */
  public void forget(Path name) {
    missing.add(name);
  }

  /** What is below a directory that is thought missing is missing too, and can't be made. */
  private void walk(Path path) throws NoSuchFileException {
    for (Path above = path.getParent(); above != null; above = above.getParent()) {
      if (missing.contains(above)) {
        throw new NoSuchFileException(path.toString());
      }
    }
  }

  private interface Lookup<T> {
    T run() throws IOException;
  }

  private <T> T look(Path path, Lookup<T> lookup) throws IOException {
    walk(path);
    if (missing.contains(path)) {
      throw new NoSuchFileException(path.toString());
    }
    try {
      return lookup.run();
    } catch (NoSuchFileException e) {
      missing.add(path);
      throw e;
    }
  }

  @Override
  public StoreFile read(Path file) throws IOException {
    return look(file, () -> inner.read(file));
  }

  @Override
  public StoreFile readUncached(Path file) throws IOException {
    return look(file, () -> inner.readUncached(file));
  }

  @Override
  public StoreFile overwrite(Path file) throws IOException {
    return look(file, () -> inner.overwrite(file));
  }

  @Override
  public FileStatus status(Path path) throws IOException {
    return look(path, () -> inner.status(path));
  }

  @Override
  public List<String> list(Path directory) throws IOException {
    List<String> names = look(directory, () -> inner.list(directory));
    if (coarse) {
      return names.stream().filter(name -> !missing.contains(directory.resolve(name))).toList();
    }
    names.forEach(name -> missing.remove(directory.resolve(name)));
    return names;
  }

  @Override
  public StoreFile create(Path file, int mode) throws IOException {
    walk(file);
    missing.remove(file); // the server is asked, whatever it answers
    StoreFile created = inner.create(file, mode);
    missing.removeIf(name -> coarse && Objects.equals(name.getParent(), file.getParent()));
    return created;
  }

  @Override
  public void mkdir(Path directory, int mode) throws IOException {
    walk(directory);
    missing.remove(directory);
    inner.mkdir(directory, mode);
  }

  @Override
  public void link(Path existing, Path name) throws IOException {
    walk(name);
    missing.remove(name);
    inner.link(existing, name);
  }
}
