package dev.cinch.bag.fs;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * An NFSv4 client that has a read delegation for every file that it opened for reading, and does
 * not know that it was revoked: it says what the file was like, until it opens it for writing.
 */
public final class DelegatedFs extends FilterFs {
  private final Map<Path, FileStatus> delegated = new ConcurrentHashMap<>();

  public DelegatedFs(StoreFs inner) {
    super(inner);
  }

  @Override
  public StoreFile read(Path file) throws IOException {
    StoreFile opened = inner.read(file);
    delegated.putIfAbsent(file, inner.status(file));
    return opened;
  }

  @Override
  public StoreFile append(Path file) throws IOException {
    delegated.remove(file);
    return inner.append(file);
  }

  @Override
  public StoreFile overwrite(Path file) throws IOException {
    delegated.remove(file);
    return inner.overwrite(file);
  }

  @Override
  public FileStatus status(Path path) throws IOException {
    FileStatus known = delegated.get(path);
    return known != null ? known : inner.status(path);
  }
}
