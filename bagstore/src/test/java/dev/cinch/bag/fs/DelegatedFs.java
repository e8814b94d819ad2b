package dev.cinch.bag.fs;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * An NFSv4 client that has a delegation for every prelock that it opened once, and does not know
 * that it was revoked: it says what the file was like, whatever it is opened for. What it reads
 * past its cache is the server's.
 */
public final class DelegatedFs extends FilterFs {
  private final Map<Path, FileStatus> delegated = new ConcurrentHashMap<>();

  public DelegatedFs(StoreFs inner) {
    super(inner);
  }

  @Override
  public StoreFile read(Path file) throws IOException {
    return delegated(file, inner.read(file));
  }

  @Override
  public StoreFile append(Path file) throws IOException {
    return delegated(file, inner.append(file));
  }

  private StoreFile delegated(Path file, StoreFile opened) throws IOException {
    if (String.valueOf(file.getFileName()).equals("prelock")) {
      delegated.putIfAbsent(file, inner.status(file));
    }
    return opened;
  }

  @Override
  public FileStatus status(Path path) throws IOException {
    FileStatus known = delegated.get(path);
    return known != null ? known : inner.status(path);
  }
}
