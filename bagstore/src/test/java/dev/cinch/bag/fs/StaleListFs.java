package dev.cinch.bag.fs;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A client that lists a directory from its cache, for ever, unless it changed an entry there itself
 * since (rule N2).
 */
public final class StaleListFs extends FilterFs {
  /** Somebody who lists so often without a pause would not end. */
  private static final int TOO_OFTEN = 1_000;

  private final Map<Path, List<String>> cache = new ConcurrentHashMap<>();

  /** Of whom it is known what he listed; the rest of it he lists anew. */
  private final boolean reader;

  private int listed;

  public StaleListFs(StoreFs inner) {
    super(inner);
    this.reader = false;
  }

  /** Of a user who may only read, and has listed one directory before: nothing tells him better. */
  public StaleListFs(StoreFs inner, Path directory, List<String> names) {
    super(inner);
    this.reader = true;
    cache.put(directory, List.copyOf(names));
  }

  private void changed(Path entry) {
    Path parent = entry.getParent();
    if (parent != null && !reader) {
      cache.remove(parent);
    }
  }

  @Override
  public List<String> list(Path directory) throws IOException {
    List<String> known = cache.get(directory);
    if (known == null) {
      known = inner.list(directory);
      if (!reader) {
        cache.put(directory, known);
      }
    } else if (reader && ++listed > TOO_OFTEN) {
      throw new AssertionError("lists again and again: " + directory);
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
    if (reader) {
      throw new AccessDeniedException(file.toString());
    }
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
