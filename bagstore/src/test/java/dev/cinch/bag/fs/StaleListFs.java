package dev.cinch.bag.fs;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A client that lists a directory from its cache, for ever, unless it changed an entry there itself
 * since (rule N2).
 */
public final class StaleListFs extends FilterFs {
  private final Map<Path, List<String>> cache = new ConcurrentHashMap<>();

  public StaleListFs(StoreFs inner) {
    super(inner);
  }

  private void changed(Path entry) {
    Path parent = entry.getParent();
    if (parent != null) {
      cache.remove(parent);
    }
  }

  @Override
  public List<String> list(Path directory) throws IOException {
    List<String> known = cache.get(directory);
    if (known == null) {
      known = inner.list(directory);
      cache.put(directory, known);
    }
    return known;
  }

  @Override
  public void mkdir(Path directory, int mode) throws IOException {
    inner.mkdir(directory, mode);
    changed(directory);
  }

  @Override
  public void rmdir(Path directory) throws IOException {
    inner.rmdir(directory);
    changed(directory);
  }

  @Override
  public StoreFile create(Path file, int mode) throws IOException {
    StoreFile made = inner.create(file, mode);
    changed(file);
    return made;
  }

  @Override
  public void link(Path existing, Path name) throws IOException {
    inner.link(existing, name);
    changed(name);
  }

  @Override
  public void unlink(Path file) throws IOException {
    inner.unlink(file);
    changed(file);
  }
}
